package io.sidecypher.core;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.JsonToken;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * The reply to a call or a page.
 *
 * @param rows the values of each row, of the classes that the stub's records expect
 * @param more whether there is another page
 * @param error the error instead of rows, or null
 * @param validity how long the rows may be kept; null if not at all
 * @param refused why the sidecar has not begun the call, so that another one may; null if it has
 */
record Reply(
        List<Object[]> rows,
        boolean more,
        RemoteError error,
        Validity validity,
        WireFailure.Kind refused) {
    /** One that is lacking what the call needs can be called for others, so its circuit stays closed. */
    private static final Map<String, WireFailure.Kind> REFUSALS = Map.of(
            "stopping", WireFailure.Kind.UNAVAILABLE,
            "busy", WireFailure.Kind.BUSY,
            "lacking", WireFailure.Kind.NOT_SENT);

    static Reply parse(String text, Call call) {
        try (JsonParser json = Json.FACTORY.createParser(text)) {
            return new Parser(json, call).parse(call.id());
        } catch (ValueProblem problem) {
            throw new WireFailure(WireFailure.Kind.PROTOCOL, "the envelope " + problem.getMessage());
        } catch (JsonProcessingException malformed) {
            throw new WireFailure(WireFailure.Kind.PROTOCOL, "it is not valid JSON");
        } catch (IOException impossible) {
            throw new IllegalStateException("reading from memory failed", impossible);
        }
    }

    private static final class Parser {
        private final JsonParser json;
        private final ValueReader values;
        private final PythonProcedure procedure;
        private String id;
        private List<Object[]> rows;
        private Boolean more;
        private RemoteError error;
        private Validity validity;
        private WireFailure.Kind refused;

        Parser(JsonParser json, Call call) {
            this.json = json;
            values = new ValueReader(json, new Entities(call.tx()));
            procedure = call.procedure();
        }

        Reply parse(String expectedId) throws IOException {
            expect(json.nextToken() == JsonToken.START_OBJECT);
            for (String key = json.nextFieldName(); key != null; key = json.nextFieldName()) {
                json.nextToken();
                readMember(key);
            }
            expect(json.currentToken() == JsonToken.END_OBJECT && json.nextToken() == null);
            expect(expectedId.equals(id));
            if (error != null) {
                expect(rows == null);
                return new Reply(List.of(), false, error, null, refused);
            }
            expect(rows != null && more != null && refused == null);
            boolean keep = !more && values.areShareable();
            return new Reply(rows, more, null, keep ? validity : null, null);
        }

        private void readMember(String key) throws IOException {
            switch (key) {
                case "id" -> {
                    expect(id == null && json.currentToken() == JsonToken.VALUE_STRING);
                    id = json.getText();
                }
                case "rows" -> {
                    expect(rows == null && json.currentToken() == JsonToken.START_ARRAY);
                    rows = readRows();
                }
                case "more" -> {
                    expect(more == null && json.currentToken().isBoolean());
                    more = json.getBooleanValue();
                }
                case "error" -> {
                    expect(error == null && json.currentToken() == JsonToken.START_OBJECT);
                    error = RemoteError.read(json);
                }
                case "cache" -> validity = Validity.of(Json.read(json));
                case "refused" -> {
                    refused = REFUSALS.get(json.getText());
                    expect(refused != null);
                }
                default -> json.skipChildren();
            }
        }

        private List<Object[]> readRows() throws IOException {
            List<Object[]> result = new ArrayList<>();
            while (json.nextToken() != JsonToken.END_ARRAY) {
                expect(json.currentToken() == JsonToken.START_ARRAY);
                result.add(readRow());
            }
            return result;
        }

        private Object[] readRow() throws IOException {
            List<PythonProcedure.Column> columns = procedure.columns();
            Object[] row = new Object[columns.size()];
            for (int i = 0; i < row.length; i++) {
                if (json.nextToken() == JsonToken.END_ARRAY) {
                    throw Failures.width(procedure, row.length);
                }
                row[i] = readColumn(columns.get(i));
            }
            if (json.nextToken() != JsonToken.END_ARRAY) {
                throw Failures.width(procedure, row.length);
            }
            return row;
        }

        private Object readColumn(PythonProcedure.Column column) throws IOException {
            try {
                Object value = values.read();
                if (!column.type().accepts(value)) {
                    throw new ValueProblem(
                            "must be of type " + column.type() + ", not " + ValueWriter.typeName(value));
                }
                return value;
            } catch (ValueProblem problem) {
                throw Failures.column(procedure, column.name(), problem);
            }
        }

        private static void expect(boolean condition) {
            if (!condition) {
                throw new WireFailure(WireFailure.Kind.PROTOCOL, "the envelope does not have the required members");
            }
        }
    }
}
