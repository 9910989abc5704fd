package io.sidecypher.core;

import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import java.io.IOException;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.neo4j.graphdb.Result;

/** Runs Python's {@code ctx.run} in the caller's transaction, on the caller's thread. */
final class CypherCallback {
    private record Query(String cypher, Map<String, Object> parameters) {}

    private CypherCallback() {}

    /** Answers one request; every failure of the query becomes an answer, and is kept on the call. */
    static String run(Call call, String request) {
        try {
            Query query = parse(call, request);
            if (call.callbackFailure() != null) {
                return failure(call.callbackFailure());
            }
            return execute(call, query);
        } catch (WireFailure foreign) {
            throw foreign;
        } catch (Throwable failed) {
            // Also an Error: thrown through here it would leave Python waiting and the status lost.
            call.keep(failed);
            return failure(failed);
        }
    }

    private static String execute(Call call, Query query) {
        call.beginCypher();
        try (Result result = call.tx().execute(query.cypher(), query.parameters())) {
            return LimitedText.of(call.settings().maxLineBytes(), json -> {
                json.writeStartObject();
                writeRows(json, call, result);
                json.writeEndObject();
            });
        } catch (LimitedText.TooLong tooLong) {
            throw Failures.tooLarge(call.procedure(), "a query's result", call.settings().maxLineBytes());
        } finally {
            call.endCypher();
        }
    }

    private static void writeRows(JsonGenerator json, Call call, Result result) throws IOException {
        List<String> columns = result.columns();
        json.writeArrayFieldStart("columns");
        for (String column : columns) {
            json.writeString(column);
        }
        json.writeEndArray();
        json.writeArrayFieldStart("rows");
        while (result.hasNext()) {
            Map<String, Object> row = result.next();
            json.writeStartArray();
            for (String column : columns) {
                try {
                    ValueWriter.write(json, row.get(column));
                } catch (ValueProblem problem) {
                    throw Failures.query(call.procedure(), "result column `" + column + "`", problem);
                }
            }
            json.writeEndArray();
        }
        json.writeEndArray();
    }

    private static Query parse(Call call, String request) {
        String id = null;
        String cypher = null;
        Map<String, Object> parameters = new LinkedHashMap<>();
        try (JsonParser json = Json.FACTORY.createParser(request)) {
            if (json.nextToken() != JsonToken.START_OBJECT) {
                throw malformed();
            }
            for (String key = json.nextFieldName(); key != null; key = json.nextFieldName()) {
                JsonToken value = json.nextToken();
                if (key.equals("id") && value == JsonToken.VALUE_STRING) {
                    id = json.getText();
                } else if (key.equals("cypher") && value == JsonToken.VALUE_STRING) {
                    cypher = json.getText();
                } else if (key.equals("params") && value == JsonToken.START_OBJECT) {
                    readParameters(json, call, parameters);
                } else {
                    json.skipChildren();
                }
            }
        } catch (ValueProblem | IOException broken) {
            throw malformed();
        }
        if (cypher == null || !call.id().equals(id)) {
            throw malformed();
        }
        return new Query(cypher, parameters);
    }

    private static void readParameters(JsonParser json, Call call, Map<String, Object> parameters)
            throws IOException {
        ValueReader values = new ValueReader(json, new Entities(call.tx()));
        for (String name = json.nextFieldName(); name != null; name = json.nextFieldName()) {
            json.nextToken();
            Object value;
            try {
                value = values.read();
            } catch (ValueProblem problem) {
                throw Failures.query(call.procedure(), "parameter `" + name + "`", problem);
            }
            Json.put(parameters, name, value);
        }
    }

    private static WireFailure malformed() {
        return new WireFailure(WireFailure.Kind.PROTOCOL, "a query came in an envelope that is not as agreed on");
    }

    private static String failure(Throwable failed) {
        return LimitedText.of(Integer.MAX_VALUE, json -> {
            json.writeStartObject();
            json.writeObjectFieldStart("error");
            json.writeStringField("code", Failures.statusOf(failed).code().serialize());
            json.writeStringField("message", Failures.messageOf(failed));
            json.writeEndObject();
            json.writeEndObject();
        });
    }
}
