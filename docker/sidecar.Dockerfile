# The sidecar. The context is this folder, with the wheel of sidecypher in it.
ARG BASE_IMAGE=python:3.11-slim
FROM ${BASE_IMAGE}

# The same steps as in neo4j.Dockerfile, so that they run once.
COPY requirements.lock sidecypher-*.whl /opt/wheel/
RUN python3 -m venv /opt/sidecypher \
 && /opt/sidecypher/bin/pip install --no-cache-dir --require-hashes \
        --requirement /opt/wheel/requirements.lock \
 && /opt/sidecypher/bin/pip install --no-cache-dir --no-deps /opt/wheel/sidecypher-*.whl
COPY procedures /opt/procedures
RUN if [ -f /opt/procedures/requirements.txt ]; then \
        /opt/sidecypher/bin/pip install --no-cache-dir --requirement /opt/procedures/requirements.txt; \
    fi

LABEL org.opencontainers.image.title="sidecypher sidecar" \
      org.opencontainers.image.description="Runs Neo4j procedures that are written in Python" \
      org.opencontainers.image.licenses="Apache-2.0"

# The user id of Neo4j's image: only its owner can read the run folder that both share.
RUN groupadd --gid 7474 sidecypher \
 && useradd --uid 7474 --gid 7474 --no-create-home --home-dir /var/lib/sidecypher sidecypher \
 && install --directory --owner=7474 --group=7474 --mode=0700 \
        /var/lib/sidecypher /var/lib/sidecypher/run
COPY --chmod=0755 sidecar-ready.py /usr/local/bin/sidecar-ready

ENV PATH=/opt/sidecypher/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    SIDECYPHER_HOME=/var/lib/sidecypher \
    SIDECYPHER_PROCEDURES=/opt/procedures \
    SIDECYPHER_HTTP_PORT=7475

USER 7474:7474
HEALTHCHECK --interval=10s --timeout=3s --start-period=30s --retries=3 CMD ["sidecar-ready"]
CMD ["sidecypher", "serve"]
