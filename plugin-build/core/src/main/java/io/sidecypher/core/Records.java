package io.sidecypher.core;

import com.fasterxml.jackson.core.JsonGenerator;
import java.io.IOException;
import java.util.ArrayDeque;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import org.neo4j.graphdb.Result;

/** The records of one statement, in pages; only pages that were read ahead are kept in memory. */
final class Records {
    private static final int MOST_ROWS = 1000;
    private static final int MOST_BYTES = 1024 * 1024;
    /** A page stops at a quarter of a line, so that a last record of three quarters still fits. */
    private static final int PAGES_IN_A_LINE = 4;

    private final Call call;
    private final Result result;
    private final List<String> columns;
    private final Queue<String> ahead = new ArrayDeque<>();
    private boolean atEnd;

    Records(Call call, Result result) {
        this.call = call;
        this.result = result;
        columns = result.columns();
    }

    /** Returns whether there is another page. */
    boolean hasMore() {
        return !atEnd || !ahead.isEmpty();
    }

    String nextPage() {
        if (ahead.isEmpty()) {
            return write();
        }
        String page = ahead.remove();
        RecordMemory.release(RecordMemory.of(page));
        return page;
    }

    void readAll() {
        while (!atEnd) {
            String page = write();
            if (!RecordMemory.reserve(RecordMemory.of(page))) {
                throw Failures.tooManyRecords(call.procedure(), RecordMemory.MOST_BYTES);
            }
            ahead.add(page);
        }
    }

    void close() {
        ahead.forEach(page -> RecordMemory.release(RecordMemory.of(page)));
        ahead.clear();
        try {
            result.close();
        } catch (RuntimeException alreadyOver) {
            // The result ended with its transaction.
        }
    }

    private String write() {
        int limit = call.settings().maxLineBytes();
        try {
            return LimitedText.of(limit, json -> write(json, Math.min(MOST_BYTES, limit / PAGES_IN_A_LINE)));
        } catch (LimitedText.TooLong tooLong) {
            throw Failures.tooLarge(call.procedure(), "a query's record", limit);
        }
    }

    private void write(JsonGenerator json, int mostBytes) throws IOException {
        json.writeStartObject();
        json.writeArrayFieldStart("columns");
        for (String column : columns) {
            json.writeString(column);
        }
        json.writeEndArray();
        json.writeArrayFieldStart("rows");
        int rows = 0;
        while (result.hasNext() && rows < MOST_ROWS && LimitedText.length(json) < mostBytes) {
            write(json, result.next());
            rows++;
        }
        json.writeEndArray();
        atEnd = !result.hasNext();
        json.writeBooleanField("more", !atEnd);
        json.writeEndObject();
    }

    private void write(JsonGenerator json, Map<String, Object> record) throws IOException {
        json.writeStartArray();
        for (String column : columns) {
            try {
                ValueWriter.write(json, record.get(column));
            } catch (ValueProblem problem) {
                throw Failures.query(call.procedure(), "result column `" + column + "`", problem);
            }
        }
        json.writeEndArray();
    }
}
