package io.sidecypher.core;

import static java.util.Map.entry;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.time.OffsetTime;
import java.time.ZonedDateTime;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.neo4j.graphdb.Node;
import org.neo4j.graphdb.Path;
import org.neo4j.graphdb.Relationship;
import org.neo4j.graphdb.spatial.Point;

/** A declared type accepts the values of its Cypher type and no others. */
class DeclaredTypeTests {
    private static final Map<String, Object> EXAMPLES = Map.ofEntries(
            entry("BOOLEAN", true),
            entry("INTEGER", 1L),
            entry("FLOAT", 1.0),
            entry("STRING", "a"),
            entry("BYTES", new byte[1]),
            entry("MAP", Map.of()),
            entry("DATE", LocalDate.EPOCH),
            entry("LOCAL TIME", LocalTime.NOON),
            entry("ZONED TIME", OffsetTime.MIN),
            entry("LOCAL DATETIME", LocalDateTime.MIN),
            entry("ZONED DATETIME", ZonedDateTime.parse("2024-01-01T00:00:00Z")),
            entry("DURATION", Duration.ZERO),
            entry("POINT", standIn(Point.class)),
            entry("NODE", standIn(Node.class)),
            entry("RELATIONSHIP", standIn(Relationship.class)),
            entry("PATH", standIn(Path.class)),
            entry("LIST<INTEGER>", List.of(1L)),
            entry("LIST<LIST<STRING>>", List.of(List.of("a"))),
            entry("LIST<NODE>", List.of(standIn(Node.class))),
            entry("LIST<DATE>", List.of(LocalDate.EPOCH)));

    private static <T> T standIn(Class<T> type) {
        return Harness.proxy(type, (name, arguments) -> name);
    }

    @Test
    void eachTypeAcceptsItsOwnValuesOnly() {
        EXAMPLES.forEach((type, value) -> {
            assertTrue(DeclaredType.parse("ANY").accepts(value));
            EXAMPLES.keySet().forEach(other -> assertEquals(
                    type.equals(other), DeclaredType.parse(other).accepts(value), other + " of " + value));
        });
    }

    @Test
    void nullBelongsToEveryType() {
        assertTrue(DeclaredType.parse("INTEGER").accepts(null));
        assertTrue(DeclaredType.parse("LIST<INTEGER>").accepts(Arrays.asList(1L, null)));
    }

    @Test
    void aListOfAnythingIsAnyList() {
        assertTrue(DeclaredType.parse("LIST<ANY>").accepts(List.of(1L, "a")));
        assertFalse(DeclaredType.parse("LIST<ANY>").accepts("a"));
    }

    @Test
    void anUnknownTypeIsRefused() {
        for (String text : List.of("LIST", "TIME", "LIST<>", "integer", "LOCAL_DATETIME")) {
            assertThrows(IllegalArgumentException.class, () -> DeclaredType.parse(text), text);
        }
    }
}
