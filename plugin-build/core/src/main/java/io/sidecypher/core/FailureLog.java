package io.sidecypher.core;

import org.neo4j.logging.Log;

/** Log and counts for errors that no sidecar knows of. */
record FailureLog(Log log, FailureCounts counts) {
    void error(PythonProcedure procedure, SidecypherException error) {
        log.warn("Sidecypher: " + error.text());
        counts.error(procedure, error);
    }
}
