# One image, two commands: `main.ts start` and `main.ts worker`. It brings no database: set
# DATABASE_URL (compose.yaml shows how). Nothing is written to disk, and nobody is root.
FROM denoland/deno:2.9.6
WORKDIR /app
COPY deno.json deno.lock ./
COPY config.ts log.ts main.ts ./
COPY db db
COPY domain domain
COPY migrations migrations
COPY routes routes
COPY workers workers
RUN deno install --frozen --entrypoint main.ts && chown -R deno:deno /deno-dir
USER deno
ENV HOST=0.0.0.0 PORT=8080 LOG_FORMAT=json
EXPOSE 8080
HEALTHCHECK --interval=10s --timeout=3s --start-period=10s CMD \
  ["deno", "eval", "const r = await fetch(`http://127.0.0.1:${Deno.env.get('PORT')}/health/live`); Deno.exit(r.ok ? 0 : 1)"]
ENTRYPOINT ["deno", "run", "--frozen", "--cached-only", "--allow-net", "--allow-env", "--allow-read=/app,/deno-dir", "main.ts"]
CMD ["start"]
