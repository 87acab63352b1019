# The image of muster: docker build -t muster .
# Debian 12 twice: once with everything of deps/debian-packages.txt to build it, once with nothing but the libraries that
# the binary is linked to.
ARG BUILD=debian:12
ARG RUN=debian:12-slim

FROM ${BUILD} AS build
WORKDIR /src
COPY deps deps
RUN deps/install.sh build
COPY . .
RUN cmake --preset release \
 && cmake --build build/release --target muster --parallel \
 && strip build/release/muster
# Which packages those libraries come from is asked of the binary, so that no second list can grow old.
RUN ldd build/release/muster | sed -n 's/.*=> \([^ ]*\) .*/\1/p' | xargs -n1 basename \
  | while read -r library; do dpkg-query --search "*/$library"; done \
  | sed -n "s/^\([^:]*\):$(dpkg --print-architecture): .*/\1/p" | sort -u > runtime-packages.txt

FROM ${RUN}
COPY --from=build /src/runtime-packages.txt /tmp/
RUN apt-get update \
 && xargs apt-get install -y --no-install-recommends < /tmp/runtime-packages.txt \
 && rm -rf /var/lib/apt/lists/* /var/cache/apt /var/log/* /tmp/runtime-packages.txt
COPY --from=build /src/build/release/muster /usr/local/bin/muster
# Nobody's account on purpose: the manifests run it as this number, with a root file system that is read-only.
USER 65532:65532
EXPOSE 8888 8889
ENTRYPOINT ["/usr/local/bin/muster"]
CMD ["--help"]
