package io.sidecypher.core;

import java.util.Iterator;
import java.util.function.Function;
import java.util.stream.Stream;
import org.neo4j.graphdb.GraphDatabaseService;
import org.neo4j.graphdb.Transaction;
import org.neo4j.internal.kernel.api.security.SecurityContext;
import org.neo4j.logging.Log;
import org.neo4j.procedure.Context;
import org.neo4j.procedure.TerminationGuard;

/**
 * The base of every generated stub class: the fields that Neo4j injects, and methods to call Python.
 *
 * <p>Neo4j creates a new instance for each call, so the fields belong to the calling transaction.
 */
public abstract class PythonNamespace {
    @Context public Transaction tx;
    @Context public Log log;
    @Context public TerminationGuard guard;
    @Context public GraphDatabaseService database;
    @Context public SecurityContext user;

    /**
     * Calls a Python procedure in the caller's transaction.
     *
     * @param procedure the procedure to call
     * @param row converts the values of one row, in the order of the columns, to an output record
     * @param arguments the values of the parameters, in their order
     * @return the rows; they are fetched page by page while the stream is read
     */
    protected final <R> Stream<R> call(
            PythonProcedure procedure, Function<Object[], R> row, Object... arguments) {
        Caller caller = new Caller(database.databaseName(), user.subject().executingUser(), "");
        return bridge(procedure).call(procedure, caller, tx, guard, log, row, arguments);
    }

    /** Calls a Python procedure without columns and waits for its end. */
    protected final void run(PythonProcedure procedure, Object... arguments) {
        try (Stream<Object[]> rows = call(procedure, Function.identity(), arguments)) {
            rows.forEach(row -> {});
        }
    }

    /** Calls a Python function; its value has the Java class of the stub's one column. */
    protected final Object evaluate(PythonProcedure function, Object... arguments) {
        return onlyValue(function, call(function, Function.identity(), arguments));
    }

    static Object onlyValue(PythonProcedure function, Stream<Object[]> stream) {
        try (stream) {
            Iterator<Object[]> rows = stream.iterator();
            Object[] row = rows.hasNext() ? rows.next() : null;
            if (row == null || rows.hasNext()) {
                throw Failures.protocol(function, "a function must return one value");
            }
            return row[0];
        }
    }

    private static Bridge bridge(PythonProcedure procedure) {
        try {
            return Bridge.shared();
        } catch (IllegalArgumentException wrongSetting) {
            throw Failures.unavailable(procedure, wrongSetting.getMessage());
        }
    }
}
