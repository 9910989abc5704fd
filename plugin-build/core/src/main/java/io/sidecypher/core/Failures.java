package io.sidecypher.core;

import org.neo4j.graphdb.QueryExecutionType.QueryType;
import org.neo4j.kernel.api.exceptions.Status;

/**
 * The errors of the core, each with the procedure, the problem and the fix.
 *
 * <p>Only <em>busy</em> has a transient status, so that a driver's managed transaction tries again:
 * the call was not started, and waiting helps. A call to an unavailable sidecar was not started
 * either, but a driver would retry for half a minute without a message. The sidecar's errors are
 * transient if the sidecar marks them as retryable.
 */
final class Failures {
    private static final String UNAVAILABLE = "SC-210";
    private static final String BUSY = "SC-211";
    private static final String DEADLINE = "SC-213";

    private Failures() {}

    static SidecypherException unavailable(PythonProcedure procedure, String reason) {
        return SidecypherException.notStarted(Status.Procedure.ProcedureCallFailed, text(UNAVAILABLE, procedure,
                "was not started: " + reason
                        + ". Start the sidecar with `sidecypher up`, or see `sidecypher status`, then call again."));
    }

    static SidecypherException busy(PythonProcedure procedure, String reason) {
        return SidecypherException.notStarted(Status.Request.NoThreadsAvailable, text(BUSY, procedure,
                "was not started: " + reason + ". Call again later, or raise pool_size or queue_limit."));
    }

    static SidecypherException tooDeep(PythonProcedure procedure, int limit) {
        return failed(BUSY, procedure, "was not started: Python procedures already call each other "
                + limit + " deep. Call fewer of them from inside one another, or raise nested_depth.");
    }

    static SidecypherException outcomeUnknown(PythonProcedure procedure) {
        return failed("SC-212", procedure, "lost the sidecar while it ran, so what it did outside this"
                + " transaction is unknown. Check that before calling it again.");
    }

    static SidecypherException deadline(PythonProcedure procedure, long millis) {
        return new SidecypherException(Status.Procedure.ProcedureTimedOut, text(DEADLINE, procedure,
                "did not finish within " + millis + " ms and was cancelled."
                        + " Request less, or raise its timeout."));
    }

    /** Returns the error of a call whose transaction timed out; any other failure unchanged. */
    static RuntimeException ofTransaction(PythonProcedure procedure, RuntimeException failure) {
        Status status = statusOf(failure);
        if (status != Status.Transaction.TransactionTimedOut
                && status != Status.Transaction.TransactionTimedOutClientConfiguration) {
            return failure;
        }
        return new SidecypherException(status, text(DEADLINE, procedure,
                "was ended with its transaction, which had no more time. Give the transaction a longer timeout by"
                        + " the driver or cypher-shell, or raise db.transaction.timeout."));
    }

    static SidecypherException protocol(PythonProcedure procedure, String reason) {
        return failed("SC-214", procedure, "got an answer that breaks the protocol: " + reason
                + ". Use the same version of the plugin and the sidecar.");
    }

    static SidecypherException argument(PythonProcedure procedure, String parameter, ValueProblem problem) {
        return failed(problem.code(), procedure,
                "was not started: parameter `" + parameter + "` " + problem.getMessage() + ".");
    }

    static SidecypherException column(PythonProcedure procedure, String column, ValueProblem problem) {
        return failed(problem.code(), procedure, "returned a wrong row: column `" + column + "` "
                + problem.getMessage() + ". Correct the procedure's rows or its declared columns.");
    }

    static SidecypherException width(PythonProcedure procedure, int columns) {
        return failed("SC-215", procedure, "returned a wrong row: it does not have the "
                + columns + " declared columns. Rebuild the plugin, restart Neo4j.");
    }

    static SidecypherException mode(PythonProcedure procedure, QueryType type) {
        return failed("SC-219", procedure, "ran a statement that " + switch (type) {
            case READ_WRITE, WRITE -> "writes data; its mode is " + procedure.mode()
                    + ". Declare it with the mode WRITE.";
            case SCHEMA_WRITE -> "changes the schema; its mode is " + procedure.mode()
                    + ". Declare it with the mode SCHEMA.";
            default -> "administers the DBMS, which no mode allows. Run it outside of procedures.";
        });
    }

    static SidecypherException commits(PythonProcedure procedure) {
        return failed("SC-219", procedure, "ran a statement with CALL { } IN TRANSACTIONS, whose writes would stay"
                + " when the call fails; no mode allows that. Run it outside of procedures.");
    }

    static SidecypherException query(PythonProcedure procedure, String what, ValueProblem problem) {
        return failed(problem.code(), procedure, "ran a query whose " + what + " " + problem.getMessage() + ".");
    }

    static SidecypherException tooLarge(PythonProcedure procedure, String what, int limit) {
        return failed("SC-216", procedure, "has " + what + " larger than the limit of " + limit
                + " bytes. Pass less at once.");
    }

    static SidecypherException tooManyRecords(PythonProcedure procedure, long limit) {
        return failed("SC-216", procedure, "ran a writing statement whose records do not fit into the " + limit
                + " bytes of Neo4j's heap that such records have in all calls together. Return fewer or smaller"
                + " records, aggregate them, or write without RETURN.");
    }

    static SidecypherException remote(RemoteError error) {
        String hint = error.hint().isEmpty() ? "" : ". " + error.hint();
        return new SidecypherException(statusOf(error), "[" + error.code() + "] " + error.message() + hint);
    }

    private static Status statusOf(RemoteError error) {
        if (error.code().equals(DEADLINE)) {
            return Status.Procedure.ProcedureTimedOut;
        }
        // Drivers repeat a managed transaction only if it ends with a transient status.
        return error.retryable()
                ? Status.Statement.RemoteExecutionTransientError
                : Status.Procedure.ProcedureCallFailed;
    }

    /** Returns the failure of a callback's Cypher, as Neo4j itself would report it to the client. */
    static SidecypherException cypher(Throwable failure) {
        if (failure instanceof SidecypherException known) {
            // A copy without "not started": the nested call was not started, but this one has begun.
            return new SidecypherException(known.status(), known.text());
        }
        return new SidecypherException(statusOf(failure), messageOf(failure));
    }

    static Status statusOf(Throwable failure) {
        Status status = Status.statusCodeOf(failure);
        return status == null ? Status.Procedure.ProcedureCallFailed : status;
    }

    static String messageOf(Throwable failure) {
        if (failure instanceof SidecypherException known) {
            return known.text();
        }
        String message = failure.getMessage();
        return message == null ? failure.getClass().getSimpleName() : message;
    }

    private static SidecypherException failed(String code, PythonProcedure procedure, String rest) {
        return new SidecypherException(Status.Procedure.ProcedureCallFailed, text(code, procedure, rest));
    }

    private static String text(String code, PythonProcedure procedure, String rest) {
        return "[" + code + "] Python " + procedure.kind() + " `" + procedure.name() + "` " + rest;
    }
}
