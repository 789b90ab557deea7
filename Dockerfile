# One image, two commands: `main.ts start` and `main.ts worker`. It brings no database: set
# DATABASE_URL (compose.yaml shows how). Nothing is written to disk, no program is run, nobody is root.
#
# A tag can be moved: for production build with its digest, which this prints,
#   docker buildx imagetools inspect denoland/deno:2.9.6
#   docker build --build-arg DENO_IMAGE=denoland/deno@sha256:… .
ARG DENO_IMAGE=denoland/deno:2.9.6
FROM ${DENO_IMAGE}
# The allocator of native memory: an eighth less processor time for each request.
RUN apt-get update && apt-get install -y --no-install-recommends libjemalloc2 && rm -rf /var/lib/apt/lists/*
WORKDIR /app
COPY deno.json deno.lock ./
COPY config.ts log.ts main.ts progress.ts tracing.ts ./
COPY config config
COPY db db
COPY docs docs
COPY domain domain
COPY migrations migrations
COPY commands commands
COPY routes routes
COPY workers workers
# What is run belongs to root: the user below can read it and not change it.
RUN deno install --frozen --entrypoint main.ts workers/gateways/exchanges/isolated.ts && chmod -R a+rX /deno-dir /app
USER deno
ENV HOST=0.0.0.0 PORT=8080 LOG_FORMAT=json
# As the launcher sets it.
ENV LD_PRELOAD=libjemalloc.so.2
EXPOSE 8080
# Bash opens the connection by itself: no interpreter of JavaScript is started every ten seconds.
HEALTHCHECK --interval=10s --timeout=3s --start-period=10s CMD ["bash", "-c", "exec 3<>/dev/tcp/127.0.0.1/$PORT && printf 'GET /health/live HTTP/1.1\\r\\nhost: localhost\\r\\nconnection: close\\r\\n\\r\\n' >&3 && read -r -t 3 _ status _ <&3 && [ \"$status\" = 200 ]"]
ENTRYPOINT ["deno", "run", "--frozen", "--cached-only", "--no-prompt", "--deny-import", "--v8-flags=--no-allocation-site-pretenuring", "--allow-net", "--allow-env", "--allow-read=/app/migrations,/app/workers/gateways/exchanges", "main.ts"]
CMD ["start"]
