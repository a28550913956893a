# docker build -t rewardbench-explorer .
# docker run -p 7860:7860 -v rewardbench:/home/explorer/.cache rewardbench-explorer
# The image runs on CPUs and, started with --gpus all, on CUDA. Without CUDA's libraries it is a third
# as large: --build-arg TORCH_INDEX= takes the address of the index of CPU wheels that
# pytorch.org/get-started names.
# Behind a proxy that writes X-Forwarded-For, add -e EXPLORER_PROXIES=1.
FROM python:3.12-slim

RUN useradd --create-home --uid 1000 explorer && mkdir /home/explorer/.cache \
    && chown explorer /home/explorer/.cache
WORKDIR /app
COPY requirements.txt .
ARG TORCH_INDEX=
# On a card what scores is compiled, which takes a C compiler
RUN test -n "$TORCH_INDEX" || { apt-get update && apt-get install -y --no-install-recommends gcc libc6-dev \
    && rm -rf /var/lib/apt/lists/*; }
# torch is the largest by far and changes least: a layer of its own
RUN pip install --no-cache-dir ${TORCH_INDEX:+--index-url "$TORCH_INDEX"} "$(grep ^torch requirements.txt)"
RUN pip install --no-cache-dir -r requirements.txt
COPY assets assets
COPY scoring scoring
COPY explorer explorer
COPY app.py ./

USER explorer
ENV GRADIO_SERVER_NAME=0.0.0.0 GRADIO_SERVER_PORT=7860 EXPLORER_PUBLIC=1
EXPOSE 7860
HEALTHCHECK --interval=30s --timeout=10s --start-period=120s \
    CMD ["python", "-c", "from urllib.request import urlopen; urlopen('http://127.0.0.1:7860/robots.txt', timeout=8)"]
CMD ["python", "app.py"]
