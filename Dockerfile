# The daemon, the worker and the CLI on a processor. `docker build -t plait .`
# `docker run -p 127.0.0.1:7400:7400 plait --insecure-any-address`, or with TLS: docs/operations.md.
# tests/deploy runs every RUN step of this file in a clean Debian root, so keep them plain commands.

FROM debian:bookworm-slim AS build
WORKDIR /src
COPY tools ./tools
RUN apt-get update -qq && tools/install-packages tools/packages-build.txt
COPY . .
RUN cmake --preset release && cmake --build --preset release
RUN mkdir -p /out/bin && cp build/plait build/plaitd build/plait-worker /out/bin && strip /out/bin/*

FROM debian:bookworm-slim AS run
COPY tools/install-packages tools/packages-run.txt /tmp/tools/
RUN apt-get update -qq && /tmp/tools/install-packages /tmp/tools/packages-run.txt && rm -rf /tmp/tools /var/lib/apt/lists
COPY --from=build /out/bin/ /usr/local/bin/
COPY deploy/container/plaitd.toml /etc/plait/plaitd.toml
RUN useradd --system --home-dir /var/lib/plait --create-home plait
USER plait
VOLUME /var/lib/plait
EXPOSE 7400 7401
STOPSIGNAL SIGTERM
ENTRYPOINT ["plaitd", "--config", "/etc/plait/plaitd.toml"]
