package io.sidecypher.core;

import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.time.OffsetTime;
import java.time.ZonedDateTime;
import java.time.temporal.TemporalAmount;
import java.util.List;
import java.util.Map;
import org.neo4j.graphdb.Node;
import org.neo4j.graphdb.Path;
import org.neo4j.graphdb.Relationship;
import org.neo4j.graphdb.spatial.Point;

/** A Cypher type as the catalogue writes it, for example {@code LIST<INTEGER>}. */
final class DeclaredType {
    private enum Kind {
        BOOLEAN(Boolean.class),
        INTEGER(Long.class),
        FLOAT(Double.class),
        STRING(String.class),
        BYTES(byte[].class),
        MAP(Map.class),
        DATE(LocalDate.class),
        LOCAL_TIME(LocalTime.class),
        ZONED_TIME(OffsetTime.class),
        LOCAL_DATETIME(LocalDateTime.class),
        ZONED_DATETIME(ZonedDateTime.class),
        DURATION(TemporalAmount.class),
        POINT(Point.class),
        NODE(Node.class),
        RELATIONSHIP(Relationship.class),
        PATH(Path.class),
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

    /** The value with FLOATs for INTEGERs, as Neo4j does itself where it knows that FLOATs are meant. */
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
