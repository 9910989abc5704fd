package io.sidecypher.core;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import java.io.IOException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Reads Cypher values from the tagged JSON of the envelopes. */
final class ValueReader {
    private final JsonParser json;
    private final TaggedValues tags;

    /**
     * @param entities finds the nodes and relationships in the JSON
     */
    ValueReader(JsonParser json, Entities entities) {
        this.json = json;
        tags = new TaggedValues(entities);
    }

    /** Returns whether several calls may get the values that were read. */
    boolean areShareable() {
        return tags.areShareable();
    }

    /** Reads the value that begins at the parser's current token. */
    Object read() throws IOException {
        return switch (json.currentToken()) {
            case START_ARRAY -> readList();
            case START_OBJECT -> readObject();
            default -> Json.scalar(json);
        };
    }

    private List<Object> readList() throws IOException {
        List<Object> list = new ArrayList<>();
        while (json.nextToken() != JsonToken.END_ARRAY) {
            list.add(read());
        }
        return list;
    }

    private Object readObject() throws IOException {
        Map<String, Object> map = new LinkedHashMap<>();
        String key = json.nextFieldName();
        if (key != null && key.startsWith("$")) {
            json.nextToken();
            // It is a tag only if no other key follows.
            Object plain = Json.read(json);
            String first = key;
            key = json.nextFieldName();
            if (key == null) {
                return tags.value(first, plain);
            }
            Json.put(map, first, tags.resolve(plain));
        }
        for (; key != null; key = json.nextFieldName()) {
            json.nextToken();
            Json.put(map, key, read());
        }
        return map;
    }
}
