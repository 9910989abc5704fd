package io.sidecypher.core;

import java.util.regex.Pattern;
import org.neo4j.graphdb.Result;
import org.neo4j.graphdb.Transaction;

/** The W3C trace context in a transaction's metadata, under {@code traceparent}. */
final class TraceContext {
    private static final String QUERY = "CALL tx.getMetaData() YIELD metadata RETURN metadata.traceparent AS traceparent";
    private static final Pattern TRACEPARENT = Pattern.compile("[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}");

    private TraceContext() {}

    /** Returns the trace context, or an empty text if it is missing or malformed. */
    static String of(Transaction tx) {
        try (Result result = tx.execute(QUERY)) {
            return result.hasNext()
                            && result.next().get("traceparent") instanceof String text
                            && TRACEPARENT.matcher(text).matches()
                    ? text
                    : "";
        }
    }
}
