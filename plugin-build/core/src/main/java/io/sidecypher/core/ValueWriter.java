package io.sidecypher.core;

import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.exc.StreamConstraintsException;
import java.io.IOException;
import java.lang.reflect.Array;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;

/** Writes Cypher values in the tagged JSON of the envelopes. */
final class ValueWriter {
    private ValueWriter() {}

    static void write(JsonGenerator json, Object raw) throws IOException {
        Object value = normal(raw);
        if (value == null) {
            json.writeNull();
        } else {
            try {
                Kind.of(value).write(json, value);
            } catch (StreamConstraintsException tooDeep) {
                throw Json.tooDeep();
            }
        }
    }

    /** Returns the standard Java form of a Cypher value: stored properties can be small numbers or arrays. */
    static Object normal(Object value) {
        if (value instanceof Integer || value instanceof Short || value instanceof Byte) {
            return ((Number) value).longValue();
        }
        if (value instanceof Float number) {
            return number.doubleValue();
        }
        if (value instanceof Character character) {
            return character.toString();
        }
        if (value instanceof Object[] array) {
            return Arrays.asList(array);
        }
        if (value != null && value.getClass().isArray() && !(value instanceof byte[])) {
            List<Object> list = new ArrayList<>(Array.getLength(value));
            for (int i = 0; i < Array.getLength(value); i++) {
                list.add(normal(Array.get(value, i)));
            }
            return list;
        }
        return value;
    }

    /** Returns the Cypher name of a value's type. */
    static String typeName(Object raw) {
        if (raw == null) {
            return "NULL";
        }
        Object value = normal(raw);
        Kind kind = Kind.of(value);
        return kind == Kind.ANY ? value.getClass().getSimpleName() : kind.cypherName();
    }

    static void writeList(JsonGenerator json, List<?> list) throws IOException {
        json.writeStartArray();
        for (Object item : list) {
            write(json, item);
        }
        json.writeEndArray();
    }

    static void writeMap(JsonGenerator json, Map<?, ?> map) throws IOException {
        boolean looksLikeTag = map.size() == 1 && ((String) map.keySet().iterator().next()).startsWith("$");
        json.writeStartObject();
        if (looksLikeTag) {
            json.writeObjectFieldStart("$map");
        }
        for (Map.Entry<?, ?> entry : map.entrySet()) {
            json.writeFieldName(Json.wellFormed((String) entry.getKey()));
            write(json, entry.getValue());
        }
        if (looksLikeTag) {
            json.writeEndObject();
        }
        json.writeEndObject();
    }
}
