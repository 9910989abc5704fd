package io.sidecypher.core;

import com.fasterxml.jackson.core.JsonGenerator;
import java.io.IOException;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import org.neo4j.graphdb.QueryExecutionType.QueryType;
import org.neo4j.graphdb.Result;

/**
 * Runs Cypher for one call in the caller's transaction and thread, and keeps the results that Python
 * has not read completely.
 */
final class Callbacks {
    static final Set<String> METHODS = Set.of("run", "next", "discard");

    private static final String NOTHING = "{}";

    private final Call call;
    private final Map<Long, Records> open = new HashMap<>();
    private Throwable failure;

    Callbacks(Call call) {
        this.call = call;
    }

    /** Answers one request; every failure of the query becomes an answer, and is kept. */
    String answer(String method, String request) {
        try {
            CallbackRequest asked = CallbackRequest.parse(call, request);
            if (failure != null) {
                return error(failure);
            }
            return switch (method) {
                case "run" -> run(asked);
                case "next" -> next(asked.cursor());
                default -> discard(asked.cursor());
            };
        } catch (WireFailure foreign) {
            throw foreign;
        } catch (Throwable failed) {
            // Also an Error: if it were thrown here, Python would wait and the status would be lost.
            failure = failed;
            // No result is read any more, and other calls may need their memory.
            close();
            return error(failed);
        }
    }

    /** Returns the first failure of a query: without savepoints, the transaction fails with it. */
    Throwable failure() {
        return failure;
    }

    /** Closes all results that Python has left open. */
    void close() {
        open.values().forEach(Records::close);
        open.clear();
    }

    private String run(CallbackRequest asked) {
        if (asked.cypher() == null || open.containsKey(asked.cursor())) {
            throw CallbackRequest.malformed();
        }
        call.beginCypher();
        try {
            StatementTypes.Kind kind = StatementTypes.of(call.tx(), asked.cypher(), asked.parameters());
            if (!StatementTypes.allows(call.procedure().mode(), kind.type())) {
                throw Failures.mode(call.procedure(), kind.type());
            }
            if (kind.commits()) {
                throw Failures.commits(call.procedure());
            }
            Result result = call.tx().execute(asked.cypher(), asked.parameters());
            Records records = new Records(call, result);
            open.put(asked.cursor(), records);
            if (kind.type() != QueryType.READ_ONLY) {
                // Its writes must not depend on how many rows the function reads.
                records.readAll();
            }
            return page(asked.cursor(), records);
        } finally {
            call.endCypher();
        }
    }

    private String next(long cursor) {
        Records records = open.get(cursor);
        if (records == null) {
            throw CallbackRequest.malformed();
        }
        call.beginCypher();
        try {
            return page(cursor, records);
        } finally {
            call.endCypher();
        }
    }

    private String discard(long cursor) {
        Records records = open.remove(cursor);
        if (records != null) {
            records.close();
        }
        return NOTHING;
    }

    private String page(long cursor, Records records) {
        String page = records.nextPage();
        if (!records.hasMore()) {
            open.remove(cursor);
            records.close();
        }
        return page;
    }

    private static String error(Throwable failed) {
        return LimitedText.of(Integer.MAX_VALUE, json -> writeError(json, failed));
    }

    private static void writeError(JsonGenerator json, Throwable failed) throws IOException {
        json.writeStartObject();
        json.writeObjectFieldStart("error");
        json.writeStringField("code", Failures.statusOf(failed).code().serialize());
        json.writeStringField("message", Failures.messageOf(failed));
        json.writeEndObject();
        json.writeEndObject();
    }
}
