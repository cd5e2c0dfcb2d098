# The service alone: one static binary, no shell, not root. It needs a Redis of its own (WORKFLOW_REDIS_URL)
# and, as it listens on every interface here, a token (WORKFLOW_WORLD_TOKEN); without one it refuses to start.
#
#   docker build -t world-redis .
#   docker run -p 127.0.0.1:8787:8787 -e WORKFLOW_REDIS_URL=redis://… -e WORKFLOW_WORLD_TOKEN=… world-redis
#
# It contains the client for apps as one file: `docker run --rm world-redis client > world-redis.cjs`, or in an app's Dockerfile
#
#   COPY --from=world-redis /usr/local/share/world-redis.cjs /app/
#   ENV WORKFLOW_TARGET_WORLD=/app/world-redis.cjs

FROM golang:1.26.8-bookworm@sha256:f4191582e1522dfc5980a6bdc0309a756f9697f3e7d0f199c7e26fc82ab324fd AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG VERSION=dev
RUN CGO_ENABLED=0 go build -trimpath -ldflags "-s -w -X main.version=${VERSION}" -o /out/ ./cmd/...

# Nothing in it but the binaries, the client, and the CA certificates that rediss:// and apps behind https need.
FROM scratch
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY --from=build /out/ /usr/local/bin/
COPY cmd/world-redis/world-redis.cjs /usr/local/share/
USER 65532:65532
ENV WORKFLOW_WORLD_LISTEN=0.0.0.0:8787 \
    WORKFLOW_WORLD_ENV=production \
    WORKFLOW_WORLD_LOG_FORMAT=json
EXPOSE 8787
# Probes: GET /healthz (alive) and /readyz (Redis answers, not draining); neither wants the token.
# serve drains on SIGTERM for up to WORKFLOW_WORLD_SHUTDOWN_GRACE (30 s): give `docker stop` at least as long.
STOPSIGNAL SIGTERM
ENTRYPOINT ["/usr/local/bin/world-redis"]
CMD ["serve"]
