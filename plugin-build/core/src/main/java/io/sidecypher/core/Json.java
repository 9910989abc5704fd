package io.sidecypher.core;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.StreamReadConstraints;
import com.fasterxml.jackson.core.StreamWriteConstraints;
import java.io.IOException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** The JSON of the envelopes, with limited depth and unlimited length: the line has a limit already. */
final class Json {
    static final int MAX_DEPTH = 200;

    static final JsonFactory FACTORY = JsonFactory.builder()
            .disable(JsonFactory.Feature.INTERN_FIELD_NAMES)
            .streamReadConstraints(StreamReadConstraints.builder()
                    .maxNestingDepth(MAX_DEPTH)
                    .maxStringLength(Integer.MAX_VALUE)
                    .maxNameLength(Integer.MAX_VALUE)
                    .build())
            .streamWriteConstraints(StreamWriteConstraints.builder()
                    .maxNestingDepth(MAX_DEPTH)
                    .build())
            .build();

    private Json() {}

    /** Returns the object that a text holds, or null if the text is malformed. */
    static Map<String, Object> parseObject(String text) {
        try (JsonParser json = FACTORY.createParser(text)) {
            return json.nextToken() == JsonToken.START_OBJECT ? readObject(json) : null;
        } catch (IOException | ValueProblem malformed) {
            return null;
        }
    }

    /** Reads the value at the parser's current token without resolving tags. */
    static Object read(JsonParser json) throws IOException {
        return switch (json.currentToken()) {
            case START_OBJECT -> readObject(json);
            case START_ARRAY -> readArray(json);
            default -> scalar(json);
        };
    }

    /** Reads the object that begins at the parser's current token. */
    static Map<String, Object> readObject(JsonParser json) throws IOException {
        Map<String, Object> map = new LinkedHashMap<>();
        for (String key = json.nextFieldName(); key != null; key = json.nextFieldName()) {
            json.nextToken();
            put(map, key, read(json));
        }
        return map;
    }

    private static List<Object> readArray(JsonParser json) throws IOException {
        List<Object> list = new ArrayList<>();
        while (json.nextToken() != JsonToken.END_ARRAY) {
            list.add(read(json));
        }
        return list;
    }

    static Object scalar(JsonParser json) throws IOException {
        return switch (json.currentToken()) {
            case VALUE_STRING -> wellFormed(json.getText());
            case VALUE_NUMBER_INT -> integer(json);
            case VALUE_NUMBER_FLOAT -> finite(json.getDoubleValue());
            case VALUE_TRUE -> Boolean.TRUE;
            case VALUE_FALSE -> Boolean.FALSE;
            case VALUE_NULL -> null;
            default -> throw new ValueProblem("is not a JSON value");
        };
    }

    /** Adds a member of an object; JSON itself would allow the same key twice. */
    static void put(Map<String, Object> map, String key, Object value) {
        int size = map.size();
        map.put(wellFormed(key), value);
        if (map.size() == size) {
            throw new ValueProblem("holds a map with the same key twice");
        }
    }

    /** Returns the text, or refuses it when UTF-8 cannot carry it. */
    static String wellFormed(String text) {
        for (int i = 0; i < text.length(); i++) {
            if (Character.isSurrogate(text.charAt(i))) {
                if (!Character.isSurrogatePair(text.charAt(i), i + 1 < text.length() ? text.charAt(i + 1) : 0)) {
                    throw new ValueProblem("holds text with a lone surrogate");
                }
                i++;
            }
        }
        return text;
    }

    static ValueProblem tooDeep() {
        return new ValueProblem("is nested deeper than " + MAX_DEPTH + " levels");
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
}
