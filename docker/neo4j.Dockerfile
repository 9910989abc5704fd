# Neo4j with APOC and the plugin for your procedures. The context is this folder, with the wheel of
# sidecypher in it.
ARG BASE_IMAGE=neo4j:5.26-community
ARG PYTHON_IMAGE=python:3.11-slim

FROM ${BASE_IMAGE} AS neo4j

FROM ${PYTHON_IMAGE} AS plugin

# The same steps as in sidecar.Dockerfile, so that they run once.
COPY requirements.lock sidecypher-*.whl /opt/wheel/
RUN python3 -m venv /opt/sidecypher \
 && /opt/sidecypher/bin/pip install --no-cache-dir --require-hashes \
        --requirement /opt/wheel/requirements.lock \
 && /opt/sidecypher/bin/pip install --no-cache-dir --no-deps /opt/wheel/sidecypher-*.whl
COPY procedures /opt/procedures
RUN if [ -f /opt/procedures/requirements.txt ]; then \
        /opt/sidecypher/bin/pip install --no-cache-dir --requirement /opt/procedures/requirements.txt; \
    fi

# Neo4j's own Java runs the compiler. The plugin is not checked in a temporary server: the start of
# the image checks it.
COPY --from=neo4j /opt/java/openjdk /opt/java/openjdk
RUN /opt/sidecypher/bin/sidecypher plugin build --no-check --procedures /opt/procedures \
        --output /opt/plugin/sidecypher.jar

FROM neo4j

LABEL org.opencontainers.image.title="Neo4j with sidecypher" \
      org.opencontainers.image.description="Neo4j Community, APOC and the plugin of sidecypher" \
      org.opencontainers.image.licenses="GPL-3.0-only AND Apache-2.0"

# The folder that Neo4j and the sidecar share: a new volume gets its owner from either image.
RUN install --directory --owner=7474 --group=7474 --mode=0700 \
        /var/lib/sidecypher /var/lib/sidecypher/run \
 && install --owner=7474 --group=7474 --mode=0644 \
        "$NEO4J_HOME"/labs/apoc-*-core.jar "$NEO4J_HOME/plugins/apoc.jar"
COPY --from=plugin --chown=7474:7474 /opt/plugin/sidecypher.jar /var/lib/neo4j/plugins/
COPY --chmod=0755 bolt-ready.sh /usr/local/bin/bolt-ready

ENV SIDECYPHER_RUN_DIR=/var/lib/sidecypher/run \
    NEO4J_apoc_trigger_enabled=true \
    NEO4J_apoc_trigger_refresh=500 \
    NEO4J_dbms_security_procedures_unrestricted=apoc.* \
    NEO4J_db_transaction_timeout=60s \
    NEO4J_db_lock_acquisition_timeout=10s

USER 7474:7474
HEALTHCHECK --interval=10s --timeout=5s --start-period=120s --retries=3 CMD ["bolt-ready"]
