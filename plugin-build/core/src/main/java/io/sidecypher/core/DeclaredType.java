package io.sidecypher.core;

import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.ZonedDateTime;
import java.util.List;
import java.util.Map;

/** A Cypher type as the catalogue writes it, for example {@code LIST<INTEGER>}. */
final class DeclaredType {
    private enum Kind {
        BOOLEAN(Boolean.class),
        INTEGER(Long.class),
        FLOAT(Double.class),
        STRING(String.class),
        MAP(Map.class),
        DATE(LocalDate.class),
        LOCAL_DATETIME(LocalDateTime.class),
        ZONED_DATETIME(ZonedDateTime.class),
        LIST(List.class),
        ANY(Object.class);

        private final Class<?> javaClass;

        Kind(Class<?> javaClass) {
            this.javaClass = javaClass;
        }
    }

    private static final String LIST_PREFIX = "LIST<";

    private final String text;
    private final Kind kind;
    private final DeclaredType element;

    private DeclaredType(String text, Kind kind, DeclaredType element) {
        this.text = text;
        this.kind = kind;
        this.element = element;
    }

    static DeclaredType parse(String text) {
        if (text.startsWith(LIST_PREFIX) && text.endsWith(">")) {
            String inner = text.substring(LIST_PREFIX.length(), text.length() - 1);
            return new DeclaredType(text, Kind.LIST, parse(inner));
        }
        for (Kind kind : Kind.values()) {
            if (kind != Kind.LIST && kind.name().replace('_', ' ').equals(text)) {
                return new DeclaredType(text, kind, null);
            }
        }
        throw new IllegalArgumentException("Unknown Cypher type in a generated stub: " + text);
    }

    /** Whether a value, already in the Java form of its Cypher type, belongs to this type; null always does. */
    boolean accepts(Object value) {
        if (value == null) {
            return true;
        }
        if (!kind.javaClass.isInstance(value)) {
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

    boolean isFloat() {
        return kind == Kind.FLOAT;
    }

    @Override
    public String toString() {
        return text;
    }
}
