package io.sidecypher.core;

import java.time.DateTimeException;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.time.OffsetTime;
import java.util.Base64;
import java.util.List;
import java.util.Map;

/** Makes the values that JSON cannot carry as they are of an object with one key, their tag. */
final class TaggedValues {
    private static final int BASE64_GROUP = 4;
    private static final int DURATION_PARTS = 4;
    private static final int NODE_PARTS = 3;
    private static final int RELATIONSHIP_PARTS = 5;
    private static final int PATH_PARTS = 2;

    private final Entities entities;

    TaggedValues(Entities entities) {
        this.entities = entities;
    }

    /** The value of an object whose only key is a tag. */
    Object value(String tag, Object plain) {
        try {
            return switch (tag) {
                case "$float" -> notFinite(text(plain));
                case "$date" -> LocalDate.parse(text(plain));
                case "$localtime" -> LocalTime.parse(text(plain));
                case "$time" -> OffsetTime.parse(text(plain));
                case "$localdatetime" -> LocalDateTime.parse(text(plain));
                case "$datetime" -> Moments.parse(text(plain));
                case "$duration" -> duration(list(plain, DURATION_PARTS));
                case "$point" -> point(plain);
                case "$bytes" -> bytes(text(plain));
                case "$map" -> resolveMembers(map(plain));
                case "$node" -> entities.node(elementId(plain, NODE_PARTS));
                case "$relationship" -> entities.relationship(elementId(plain, RELATIONSHIP_PARTS));
                case "$path" -> path(list(plain, PATH_PARTS));
                default -> throw new ValueProblem("holds a value of a kind this plugin does not know");
            };
        } catch (DateTimeException | IllegalArgumentException malformed) {
            throw new ValueProblem("holds a malformed " + tag.substring(1));
        }
    }

    /** Finds the tags in what was read without a meaning for them. */
    @SuppressWarnings("unchecked")
    Object resolve(Object plain) {
        if (plain instanceof List<?> list) {
            ((List<Object>) list).replaceAll(this::resolve);
        } else if (plain instanceof Map<?, ?> untyped) {
            Map<String, Object> map = (Map<String, Object>) untyped;
            String only = map.size() == 1 ? map.keySet().iterator().next() : "";
            return only.startsWith("$") ? value(only, map.get(only)) : resolveMembers(map);
        }
        return plain;
    }

    private Map<String, Object> resolveMembers(Map<String, Object> map) {
        map.replaceAll((key, inner) -> resolve(inner));
        return map;
    }

    private static Double notFinite(String text) {
        return switch (text) {
            case "NaN" -> Double.NaN;
            case "Infinity" -> Double.POSITIVE_INFINITY;
            case "-Infinity" -> Double.NEGATIVE_INFINITY;
            default -> throw new IllegalArgumentException();
        };
    }

    private static byte[] bytes(String text) {
        // Java would read it without its padding too.
        if (text.length() % BASE64_GROUP != 0) {
            throw new IllegalArgumentException();
        }
        return Base64.getDecoder().decode(text);
    }

    private static CypherDuration duration(List<?> parts) {
        return new CypherDuration(
                as(Long.class, parts.get(0)),
                as(Long.class, parts.get(1)),
                as(Long.class, parts.get(2)),
                as(Long.class, parts.get(3)));
    }

    private static CypherPoint point(Object plain) {
        List<?> parts = list(plain);
        if (parts.isEmpty()) {
            throw new IllegalArgumentException();
        }
        double[] coordinates = new double[parts.size() - 1];
        for (int i = 0; i < coordinates.length; i++) {
            coordinates[i] = as(Number.class, parts.get(i + 1)).doubleValue();
        }
        return CypherPoint.of(as(Long.class, parts.get(0)), coordinates);
    }

    private Object path(List<?> parts) {
        return entities.path(elementIds(parts.get(0), NODE_PARTS), elementIds(parts.get(1), RELATIONSHIP_PARTS));
    }

    private static List<String> elementIds(Object snapshots, int parts) {
        return list(snapshots).stream().map(each -> elementId(each, parts)).toList();
    }

    /** The one part of a snapshot that counts on the way back: the others are what Python once saw. */
    private static String elementId(Object snapshot, int parts) {
        return text(list(snapshot, parts).get(0));
    }

    private static List<?> list(Object plain, int size) {
        List<?> list = list(plain);
        if (list.size() != size) {
            throw new IllegalArgumentException();
        }
        return list;
    }

    private static List<?> list(Object plain) {
        return as(List.class, plain);
    }

    private static String text(Object plain) {
        return as(String.class, plain);
    }

    private static <T> T as(Class<T> type, Object plain) {
        if (!type.isInstance(plain)) {
            throw new IllegalArgumentException();
        }
        return type.cast(plain);
    }

    @SuppressWarnings("unchecked")
    private static Map<String, Object> map(Object plain) {
        return as(Map.class, plain);
    }
}
