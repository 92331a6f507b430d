# The daemon, the worker and the CLI on a processor. `docker build -t plait .`
# `docker run -p 127.0.0.1:7400:7400 plait --insecure-any-address`, or with TLS: docs/operations.md.
# With the runtimes that jobs measure in: `docker build --target with-runtimes -t plait-with-runtimes .`
# The worker of a GPU: `docker build --target worker-cuda -t plait-worker-cuda .`
# tests/deploy runs every RUN step of this file in a clean Debian root, so keep them plain commands.

# An image that has the headers and libraries of CUDA 13 and cuDNN 9; by default those of PyPI.
ARG CUDA_BASE=cuda-of-pypi

FROM debian:bookworm-slim AS build
WORKDIR /src
COPY tools ./tools
RUN apt-get update -qq && tools/install-packages tools/packages-build.txt
COPY . .
RUN cmake --preset release && cmake --build --preset release
RUN cmake --install build --prefix /out --component tools --strip

FROM debian:bookworm-slim AS run
COPY tools/install-packages tools/packages-run.txt /tmp/tools/
RUN apt-get update -qq && /tmp/tools/install-packages /tmp/tools/packages-run.txt && rm -rf /tmp/tools /var/lib/apt/lists
COPY --from=build /out/ /usr/local/
COPY deploy/container/plaitd.toml /etc/plait/plaitd.toml
RUN useradd --system --home-dir /var/lib/plait --create-home plait
USER plait
VOLUME /var/lib/plait
EXPOSE 7400 7401
STOPSIGNAL SIGTERM
ENTRYPOINT ["plaitd", "--config", "/etc/plait/plaitd.toml"]

FROM debian:bookworm-slim AS cuda-of-pypi
RUN apt-get update -qq && apt-get install -y -qq --no-install-recommends ca-certificates python3-pip
COPY tools/requirements-cuda.txt /tmp/
RUN pip install --quiet --no-cache-dir --no-deps --target /usr/local/cuda -r /tmp/requirements-cuda.txt

FROM ${CUDA_BASE} AS cuda
COPY deploy/container/gather-cuda /tmp/
RUN /tmp/gather-cuda /out/cuda /usr/local/cuda /usr/include /usr/lib

FROM build AS build-cuda
COPY --from=cuda /out/cuda/include/ /usr/local/cuda/include/
RUN cmake --preset release -DPLAIT_CUDA=ON && cmake --build --preset release
RUN cmake --install build --prefix /out --component tools --strip

# The driver is the host's: the NVIDIA Container Toolkit brings libcuda.so.1.
FROM run AS worker-cuda
USER root
COPY --from=cuda /out/cuda/lib64/ /usr/local/cuda/lib64/
RUN echo /usr/local/cuda/lib64 > /etc/ld.so.conf.d/cuda.conf && ldconfig
COPY --from=build-cuda /out/ /usr/local/
ENV NVIDIA_VISIBLE_DEVICES=all NVIDIA_DRIVER_CAPABILITIES=compute,utility
USER plait
ENTRYPOINT ["plait-worker"]
CMD ["--device", "cuda:0", "--check"]

FROM run AS with-runtimes
USER root
RUN apt-get update -qq && apt-get install -y -qq --no-install-recommends python3-venv && rm -rf /var/lib/apt/lists
COPY deploy/container/requirements-runtimes.txt /tmp/
RUN python3 -m venv /opt/runtimes && /opt/runtimes/bin/pip install --quiet --no-cache-dir -r /tmp/requirements-runtimes.txt
ENV PLAIT_RUNTIMES_PYTHON=/opt/runtimes/bin/python
USER plait

# Without --target, this is the image.
FROM run
