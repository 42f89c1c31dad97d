# Builds with all dependencies, runs with those of production only. The base has Node 20.19 or later, and a user
# `node` (1000).
ARG BASE=node:22-slim
FROM ${BASE} AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci
COPY tsconfig.json tsconfig.build.json tsconfig.page.json rolldown.config.mjs ./
COPY src ./src
RUN npm run build && npm prune --omit=dev

FROM ${BASE}
ENV NODE_ENV=production HOST=0.0.0.0 DATA_DIR=/data RULES_DIR=/app/rules
WORKDIR /app
COPY --from=build /app/node_modules ./node_modules
COPY --from=build /app/dist ./dist
COPY package.json ./
COPY rules ./rules
COPY src/relay/scenarios ./src/relay/scenarios
COPY deploy/RUNBOOK.md ./deploy/RUNBOOK.md
# Root's, and readable whatever the modes of the checkout were; the server cannot change itself.
RUN chmod -R u=rwX,go=rX /app
# The only place that is written: run with --read-only and a volume here.
RUN mkdir -m 0700 /data && chown node:node /data
VOLUME /data
USER node
EXPOSE 8080 8081
HEALTHCHECK --interval=5s --timeout=2s --start-period=10s CMD ["node", "-e", \
  "fetch(`http://127.0.0.1:${process.env.ADMIN_PORT || 8081}/healthz`).then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
# One helper thread for garbage collection and compiling: its usual four compete with gate and engine for few cores.
CMD ["node", "--v8-pool-size=1", "dist/main.js"]
