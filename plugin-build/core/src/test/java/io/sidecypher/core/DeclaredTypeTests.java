package io.sidecypher.core;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.ZonedDateTime;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** A declared type accepts the values of its Cypher type and no others. */
class DeclaredTypeTests {
    private static final Map<String, Object> EXAMPLES = Map.of(
            "BOOLEAN", true, "INTEGER", 1L, "FLOAT", 1.0, "STRING", "a", "MAP", Map.of(),
            "DATE", LocalDate.EPOCH, "LOCAL DATETIME", LocalDateTime.MIN,
            "ZONED DATETIME", ZonedDateTime.parse("2024-01-01T00:00:00Z"),
            "LIST<INTEGER>", List.of(1L), "LIST<LIST<STRING>>", List.of(List.of("a")));

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
        for (String text : List.of("LIST", "NODE", "LIST<>", "integer", "LOCAL_DATETIME")) {
            assertThrows(IllegalArgumentException.class, () -> DeclaredType.parse(text), text);
        }
    }
}
