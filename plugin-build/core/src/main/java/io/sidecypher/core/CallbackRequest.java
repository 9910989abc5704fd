package io.sidecypher.core;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.exc.StreamConstraintsException;
import java.io.IOException;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * A request of Python to the caller's transaction.
 *
 * @param cursor Python's number of the result
 * @param cypher the statement to run; null to read more of a result
 */
record CallbackRequest(long cursor, String cypher, Map<String, Object> parameters) {
    static CallbackRequest parse(Call call, String text) {
        try (JsonParser json = Json.FACTORY.createParser(text)) {
            return new Reader(json, call).read();
        } catch (StreamConstraintsException tooDeep) {
            throw Failures.query(call.procedure(), "parameters", Json.tooDeep());
        } catch (IOException | ValueProblem broken) {
            throw malformed();
        }
    }

    static WireFailure malformed() {
        return new WireFailure(WireFailure.Kind.PROTOCOL, "a query came in a malformed envelope");
    }

    private static final class Reader {
        private final JsonParser json;
        private final Call call;
        private final Map<String, Object> parameters = new LinkedHashMap<>();
        private String id;
        private Long cursor;
        private String cypher;

        Reader(JsonParser json, Call call) {
            this.json = json;
            this.call = call;
        }

        CallbackRequest read() throws IOException {
            if (json.nextToken() != JsonToken.START_OBJECT) {
                throw malformed();
            }
            for (String key = json.nextFieldName(); key != null; key = json.nextFieldName()) {
                readMember(key, json.nextToken());
            }
            if (!call.id().equals(id) || cursor == null) {
                throw malformed();
            }
            return new CallbackRequest(cursor, cypher, parameters);
        }

        private void readMember(String key, JsonToken value) throws IOException {
            if (key.equals("id") && value == JsonToken.VALUE_STRING) {
                id = json.getText();
            } else if (key.equals("cursor") && value == JsonToken.VALUE_NUMBER_INT) {
                cursor = json.getLongValue();
            } else if (key.equals("cypher") && value == JsonToken.VALUE_STRING) {
                cypher = json.getText();
            } else if (key.equals("params") && value == JsonToken.START_OBJECT) {
                readParameters();
            } else {
                json.skipChildren();
            }
        }

        private void readParameters() throws IOException {
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
    }
}
