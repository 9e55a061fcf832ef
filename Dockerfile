# Till without its embedded parts, which production refuses. docs/deployment.md explains how to run it.
# test/deploy carries out these steps in an empty folder, so it must know every instruction that is used here.

FROM node:24.21.0-trixie-slim AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
# Only for the service: the other workspaces need nothing to run. Nothing reads type declarations and source maps, and
# they are a third of the packages.
RUN --mount=type=cache,target=/npm-cache \
  npm ci --cache /npm-cache --workspaces=false --omit=dev --omit=optional \
  && find node_modules -type f '(' -name '*.d.*ts' -o -name '*.map' ')' -delete

# The documentation, which Till serves at /docs.
WORKDIR /documentation
COPY package.json package-lock.json .npmrc ./
COPY site ./site
RUN --mount=type=cache,target=/npm-cache npm ci --cache /npm-cache --workspace=site
COPY README.md ARCHITECTURE.md CHANGELOG.md CONTRIBUTING.md SECURITY.md openapi.json ./
COPY client/README.md ./client/
COPY packages/sandbox/README.md ./packages/sandbox/
COPY packages/server/README.md ./packages/server/
COPY sandbox/README.md ./sandbox/
COPY examples/shop/README.md ./examples/shop/
COPY bench/README.md ./bench/
COPY src/http ./src/http
COPY docs ./docs
RUN node site/build.ts

# What Node needs from the system: its libraries, and users and names by number. The list of Debian packages lets
# scanners find their versions.
RUN mkdir -p /system/etc /system/tmp /system/var/lib/dpkg \
  && ldd /usr/local/bin/node | grep -o '/[^ ]*' | xargs -I '{}' cp --parents --dereference '{}' /system \
  && cp --parents --dereference /etc/os-release /system \
  && dpkg --status libc6 libgcc-s1 libstdc++6 > /system/var/lib/dpkg/status \
  && echo 'till:x:65532:65532::/app:/sbin/nologin' > /system/etc/passwd \
  && echo 'till:x:65532:' > /system/etc/group \
  && echo 'hosts: files dns' > /system/etc/nsswitch.conf \
  && chmod 1777 /system/tmp

FROM scratch
LABEL org.opencontainers.image.title="Till" \
  org.opencontainers.image.description="A standalone payments and subscriptions service" \
  org.opencontainers.image.licenses="MIT"
COPY --from=build /system/ /
COPY --from=build /usr/local/bin/node /usr/local/bin/node
WORKDIR /app
COPY --from=build /app/node_modules ./node_modules
COPY package.json LICENSE ./
COPY migrations ./migrations
COPY console/dist ./console/dist
COPY --from=build /documentation/site/dist ./site/dist
COPY src ./src
# For the command "till sandbox". Till itself refuses it in production.
COPY sandbox ./sandbox

ENV PATH=/usr/local/bin NODE_ENV=production HOST=0.0.0.0 PORT=3000
USER 65532:65532
EXPOSE 3000
STOPSIGNAL SIGTERM
# Only whether the process is alive: some orchestrators kill unhealthy containers, which does not repair a database.
# Load balancers check /health/ready instead.
HEALTHCHECK --interval=10s --timeout=5s --start-period=90s --retries=3 CMD ["node", "-e", \
  "fetch('http://127.0.0.1:' + process.env.PORT + '/health/live').then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
# The arguments are a command of till, such as: resync --all. Node's new generation has half its default size: a quarter
# less memory under load, for 3 % more CPU time.
ENTRYPOINT ["node", "--max-semi-space-size=16", "src/cli/bin.mjs"]
CMD ["start"]
