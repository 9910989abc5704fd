package io.sidecypher.core;

import java.util.List;

/** A Cypher type as the catalogue writes it, for example {@code LIST<INTEGER>}. */
final class DeclaredType {
    private static final String LIST_PREFIX = "LIST<";

    private final String text;
    private final Kind kind;
    private final DeclaredType element;
    private final boolean holdsFloats;

    private DeclaredType(String text, Kind kind, DeclaredType element) {
        this.text = text;
        this.kind = kind;
        this.element = element;
        holdsFloats = element != null && (element.kind == Kind.FLOAT || element.holdsFloats);
    }

    static DeclaredType parse(String text) {
        if (text.startsWith(LIST_PREFIX) && text.endsWith(">")) {
            String inner = text.substring(LIST_PREFIX.length(), text.length() - 1);
            return new DeclaredType(text, Kind.LIST, parse(inner));
        }
        for (Kind kind : Kind.values()) {
            if (kind != Kind.LIST && kind.cypherName().equals(text)) {
                return new DeclaredType(text, kind, null);
            }
        }
        throw new IllegalArgumentException("Unknown Cypher type in a generated stub: " + text);
    }

    /** Returns whether a value, in the Java form of its Cypher type, or null belongs to this type. */
    boolean accepts(Object value) {
        if (value == null) {
            return true;
        }
        if (!kind.accepts(value)) {
            return false;
        }
        if (kind == Kind.LIST && element.kind != Kind.ANY) {
            for (Object item : (List<?>) value) {
                if (!element.accepts(item)) {
                    return false;
                }
            }
        }
        return true;
    }

    /** Returns the value with FLOATs for INTEGERs, like Neo4j for parameters of type FLOAT. */
    Object widened(Object value) {
        if (kind == Kind.FLOAT && value instanceof Long number) {
            return number.doubleValue();
        }
        return holdsFloats && value instanceof List<?> list ? list.stream().map(element::widened).toList() : value;
    }

    @Override
    public String toString() {
        return text;
    }
}
