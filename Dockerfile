# docker build -t rewardbench-explorer .
# docker run -p 7860:7860 -v rewardbench:/home/explorer/.cache rewardbench-explorer
# Behind a proxy that writes X-Forwarded-For, add -e EXPLORER_PROXIES=1.
FROM python:3.12-slim

WORKDIR /app
COPY requirements.txt .
RUN pip install --no-cache-dir -r requirements.txt
COPY app.py ./
COPY explorer explorer
COPY scoring scoring
COPY assets assets

RUN useradd --create-home explorer && mkdir /home/explorer/.cache \
    && chown explorer /home/explorer/.cache
USER explorer
ENV GRADIO_SERVER_NAME=0.0.0.0 GRADIO_SERVER_PORT=7860 EXPLORER_PUBLIC=1
EXPOSE 7860
CMD ["python", "app.py"]
