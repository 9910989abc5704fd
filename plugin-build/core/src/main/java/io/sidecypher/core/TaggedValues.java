package io.sidecypher.core;

import java.time.DateTimeException;
import java.util.List;
import java.util.Map;

/** Converts JSON objects with one key, a tag, to values without a JSON type. */
final class TaggedValues {
    private static final int DURATION_PARTS = 4;
    private static final int NODE_PARTS = 3;
    private static final int RELATIONSHIP_PARTS = 5;
    private static final int PATH_PARTS = 2;

    private final Entities entities;
    private boolean shareable = true;

    TaggedValues(Entities entities) {
        this.entities = entities;
    }

    /** Returns the value of an object whose only key is a tag. */
    Object value(String tag, Object plain) {
        Kind kind = Kind.ofTag(tag);
        if (kind == null) {
            throw new ValueProblem("holds a value of a kind this plugin does not know");
        }
        shareable &= kind.isShareable();
        try {
            return kind.read(this, plain);
        } catch (DateTimeException | IllegalArgumentException malformed) {
            throw new ValueProblem("holds a malformed " + tag.substring(1));
        }
    }

    /** Returns whether several calls may get the values that were read. */
    boolean areShareable() {
        return shareable;
    }

    /** Resolves the tags in a value that was read without them. */
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

    Object members(Object plain) {
        return resolveMembers(map(plain));
    }

    Object node(Object plain) {
        return entities.node(elementId(plain, NODE_PARTS));
    }

    Object relationship(Object plain) {
        return entities.relationship(elementId(plain, RELATIONSHIP_PARTS));
    }

    Object path(Object plain) {
        List<?> parts = list(plain, PATH_PARTS);
        return entities.path(elementIds(parts.get(0), NODE_PARTS), elementIds(parts.get(1), RELATIONSHIP_PARTS));
    }

    static CypherDuration duration(Object plain) {
        List<?> parts = list(plain, DURATION_PARTS);
        return new CypherDuration(
                as(Long.class, parts.get(0)),
                as(Long.class, parts.get(1)),
                as(Long.class, parts.get(2)),
                as(Long.class, parts.get(3)));
    }

    static CypherPoint point(Object plain) {
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

    private static List<String> elementIds(Object snapshots, int parts) {
        return list(snapshots).stream().map(each -> elementId(each, parts)).toList();
    }

    /** Returns the element id of a snapshot; its other parts may be out of date. */
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

    static String text(Object plain) {
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
