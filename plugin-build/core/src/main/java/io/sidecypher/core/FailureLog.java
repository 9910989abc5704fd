package io.sidecypher.core;

import org.neo4j.logging.Log;

/** Where a call tells of an error that no sidecar knows of: one line of the log, and one more in the counts. */
record FailureLog(Log log, FailureCounts counts) {
    void error(PythonProcedure procedure, SidecypherException error) {
        log.warn("Sidecypher: " + error.text());
        counts.error(procedure, error);
    }
}
