# docker build -t rewardbench-explorer .
# docker run -p 7860:7860 -v rewardbench:/home/explorer/.cache rewardbench-explorer
FROM python:3.12-slim

WORKDIR /app
COPY requirements.txt .
# The CPU build of torch; leave the extra index out for a GPU.
RUN pip install --no-cache-dir --extra-index-url https://download.pytorch.org/whl/cpu \
    "torch>=2.11,<=2.13.0" && pip install --no-cache-dir -r requirements.txt
COPY app.py ./
COPY explorer explorer
COPY scoring scoring
COPY assets assets

RUN useradd --create-home explorer
USER explorer
ENV GRADIO_SERVER_NAME=0.0.0.0 GRADIO_SERVER_PORT=7860 EXPLORER_PUBLIC=1
RUN mkdir -p /home/explorer/.cache
EXPOSE 7860
CMD ["python", "app.py"]
