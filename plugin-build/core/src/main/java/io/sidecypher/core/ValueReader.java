package io.sidecypher.core;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import java.io.IOException;
import java.time.DateTimeException;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.ZonedDateTime;
import java.time.format.DateTimeFormatter;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Reads Cypher values from the tagged JSON of the envelopes. */
final class ValueReader {
    private ValueReader() {}

    /** Reads the value that begins at the parser's current token. */
    static Object read(JsonParser json) throws IOException {
        return switch (json.currentToken()) {
            case START_ARRAY -> readList(json);
            case START_OBJECT -> readObject(json);
            default -> scalar(json);
        };
    }

    /** Reads a map whose own keys are never a tag, such as the parameters of a query. */
    static Map<String, Object> readMap(JsonParser json) throws IOException {
        Map<String, Object> map = new LinkedHashMap<>();
        for (String key = json.nextFieldName(); key != null; key = json.nextFieldName()) {
            json.nextToken();
            put(map, key, read(json));
        }
        return map;
    }

    private static Object scalar(JsonParser json) throws IOException {
        return switch (json.currentToken()) {
            case VALUE_STRING -> Json.wellFormed(json.getText());
            case VALUE_NUMBER_INT -> integer(json);
            case VALUE_NUMBER_FLOAT -> finite(json.getDoubleValue());
            case VALUE_TRUE -> Boolean.TRUE;
            case VALUE_FALSE -> Boolean.FALSE;
            case VALUE_NULL -> null;
            default -> throw new ValueProblem("is not a JSON value");
        };
    }

    private static Long integer(JsonParser json) throws IOException {
        if (json.getNumberType() == JsonParser.NumberType.BIG_INTEGER) {
            throw new ValueProblem("holds an INTEGER outside 64 bits");
        }
        return json.getLongValue();
    }

    private static Double finite(double number) {
        if (Double.isInfinite(number)) {
            throw new ValueProblem("holds a FLOAT outside 64 bits");
        }
        return number;
    }

    private static List<Object> readList(JsonParser json) throws IOException {
        List<Object> list = new ArrayList<>();
        while (json.nextToken() != JsonToken.END_ARRAY) {
            list.add(read(json));
        }
        return list;
    }

    private static Object readObject(JsonParser json) throws IOException {
        Map<String, Object> map = new LinkedHashMap<>();
        String key = json.nextFieldName();
        // Whether a leading $key is a tag is known only at the end of the object.
        boolean perhapsTagged = key != null && key.startsWith("$");
        for (; key != null; key = json.nextFieldName()) {
            json.nextToken();
            put(map, key, perhapsTagged ? readUntagged(json) : read(json));
        }
        return perhapsTagged ? resolve(map) : map;
    }

    private static Object readUntagged(JsonParser json) throws IOException {
        if (json.currentToken() == JsonToken.START_OBJECT) {
            Map<String, Object> map = new LinkedHashMap<>();
            for (String key = json.nextFieldName(); key != null; key = json.nextFieldName()) {
                json.nextToken();
                put(map, key, readUntagged(json));
            }
            return map;
        }
        if (json.currentToken() == JsonToken.START_ARRAY) {
            List<Object> list = new ArrayList<>();
            while (json.nextToken() != JsonToken.END_ARRAY) {
                list.add(readUntagged(json));
            }
            return list;
        }
        return scalar(json);
    }

    @SuppressWarnings("unchecked")
    private static Object resolve(Object value) {
        if (value instanceof List<?> list) {
            ((List<Object>) list).replaceAll(ValueReader::resolve);
        } else if (value instanceof Map<?, ?> untyped) {
            Map<String, Object> map = (Map<String, Object>) untyped;
            String only = map.size() == 1 ? map.keySet().iterator().next() : "";
            if (only.startsWith("$")) {
                return tagged(only, map.get(only));
            }
            map.replaceAll((key, inner) -> resolve(inner));
        }
        return value;
    }

    @SuppressWarnings("unchecked")
    private static Object tagged(String tag, Object value) {
        if (tag.equals("$map") && value instanceof Map<?, ?> map) {
            ((Map<String, Object>) map).replaceAll((key, inner) -> resolve(inner));
            return map;
        }
        if (value instanceof String text) {
            try {
                switch (tag) {
                    case "$date":
                        return LocalDate.parse(text);
                    case "$localdatetime":
                        return LocalDateTime.parse(text);
                    case "$datetime":
                        return ZonedDateTime.parse(text, DateTimeFormatter.ISO_ZONED_DATE_TIME);
                    case "$float":
                        return notFinite(text);
                    default:
                }
            } catch (DateTimeException malformed) {
                throw new ValueProblem("holds a malformed " + tag.substring(1));
            }
        }
        throw new ValueProblem("holds a value of a kind this plugin does not know");
    }

    private static Double notFinite(String text) {
        return switch (text) {
            case "NaN" -> Double.NaN;
            case "Infinity" -> Double.POSITIVE_INFINITY;
            case "-Infinity" -> Double.NEGATIVE_INFINITY;
            default -> throw new ValueProblem("holds a malformed float");
        };
    }

    private static void put(Map<String, Object> map, String key, Object value) {
        if (map.containsKey(key)) {
            throw new ValueProblem("holds a map with the same key twice");
        }
        map.put(Json.wellFormed(key), value);
    }
}
