# Image of `polyglot serve`. It has no run: mount one as a volume.
#
#   docker build -t polyglot .
#   docker run --rm -p 127.0.0.1:5000:5000 -v "$PWD/runs/phrasebook:/run-directory:ro" polyglot
#
# Options follow the name of the image:
#   docker run … polyglot serve /run-directory --host 0.0.0.0 --precision auto
FROM python:3.12-slim

# PyTorch without CUDA: a tenth of the size. For a GPU, take an image with CUDA, and leave this out.
RUN pip install --no-cache-dir torch --index-url https://download.pytorch.org/whl/cpu

COPY pyproject.toml README.md LICENSE /source/
COPY polyglot /source/polyglot
COPY configs /source/configs
COPY schedules /source/schedules
COPY evaluation /source/evaluation
RUN pip install --no-cache-dir "/source[serve]" && rm -r /source

RUN useradd --create-home polyglot
USER polyglot
VOLUME /run-directory
EXPOSE 5000

HEALTHCHECK --interval=30s --timeout=5s --start-period=60s \
    CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:5000/health', timeout=4)"]
STOPSIGNAL SIGTERM
ENTRYPOINT ["polyglot"]
CMD ["serve", "/run-directory", "--host", "0.0.0.0"]
