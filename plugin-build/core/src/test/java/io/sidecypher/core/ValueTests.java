package io.sidecypher.core;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.core.JsonParser;
import java.io.IOException;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.time.ZonedDateTime;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Values cross in both directions without loss, and what cannot cross is refused by its type's name. */
class ValueTests {
    static Stream<Object> values() {
        Map<String, Object> withNull = new HashMap<>();
        withNull.put("k", null);
        return Stream.of(
                true, 0L, Long.MIN_VALUE, Long.MAX_VALUE, -0.0, 1.0, 1e300, Double.MIN_VALUE, Double.MAX_VALUE,
                Double.NaN, Double.POSITIVE_INFINITY, Double.NEGATIVE_INFINITY,
                "", "\n\r\t\u0000\u001a\\\"!ys", "\u2028\u0085\u007f", "\uD83D\uDE00 \uFFFD é",
                LocalDate.of(2024, 2, 29), LocalDate.of(-44, 3, 15), LocalDate.of(12024, 1, 1),
                LocalDateTime.of(2024, 2, 29, 10, 11), LocalDateTime.of(2024, 2, 29, 10, 11, 12, 123456789),
                ZonedDateTime.of(2024, 2, 29, 10, 11, 12, 123456789, ZoneId.of("Europe/Berlin")),
                ZonedDateTime.of(2024, 2, 29, 10, 11, 0, 1, ZoneOffset.UTC),
                ZonedDateTime.of(2024, 2, 29, 10, 11, 0, 0, ZoneOffset.ofHoursMinutesSeconds(-3, -30, -15)),
                // The second of the two hours that a clock change repeats.
                ZonedDateTime.ofLocal(
                        LocalDateTime.of(2024, 10, 27, 2, 30), ZoneId.of("Europe/Berlin"), ZoneOffset.ofHours(1)),
                Map.of(), List.of(), withNull, List.of(1L, "a", List.of(2.5)),
                Map.of("$date", "2024-01-01"), Map.of("$map", Map.of("$map", Map.of("$float", "NaN"))),
                Map.of("$map", Map.of("$date", "x"), "b", List.of(Map.of("$x", LocalDate.EPOCH))),
                Map.of("$a", Map.of("$b", 1L), "c", Double.NaN), Map.of("", 1L));
    }

    @ParameterizedTest
    @MethodSource("values")
    void aValueComesBackAsItWent(Object value) throws IOException {
        assertEquals(value, read(write(value)));
    }

    @Test
    void aNullComesBackAsItWent() throws IOException {
        assertEquals(Arrays.asList(1L, null), read(write(Arrays.asList(1L, null))));
    }

    @Test
    void valuesLookAsTheContractSays() {
        assertEquals("1.0", write(1.0));
        assertEquals("{\"$float\":\"-Infinity\"}", write(Double.NEGATIVE_INFINITY));
        assertEquals("{\"$date\":\"2024-02-29\"}", write(LocalDate.of(2024, 2, 29)));
        assertEquals("{\"$localdatetime\":\"2024-02-29T10:11:00\"}", write(LocalDateTime.of(2024, 2, 29, 10, 11)));
        assertEquals("{\"$datetime\":\"2024-02-29T10:11:12.123456789+01:00[Europe/Berlin]\"}",
                write(ZonedDateTime.of(2024, 2, 29, 10, 11, 12, 123456789, ZoneId.of("Europe/Berlin"))));
        assertEquals("{\"$datetime\":\"2024-02-29T10:11:00Z\"}",
                write(ZonedDateTime.of(2024, 2, 29, 10, 11, 0, 0, ZoneOffset.UTC)));
        assertEquals("{\"$map\":{\"$date\":\"x\"}}", write(Map.of("$date", "x")));
    }

    @Test
    void storedPropertiesOfSmallTypesAreCypherValues() throws IOException {
        assertEquals(List.of(1L, 2L), read(write(new int[] {1, 2})));
        assertEquals(List.of(1.5), read(write(new float[] {1.5f})));
        assertEquals(List.of("a"), read(write(new String[] {"a"})));
        assertEquals("c", read(write('c')));
    }

    @Test
    void whatPythonCannotBeGivenIsNamed() {
        assertTrue(assertThrows(ValueProblem.class, () -> write(List.of(LocalTime.NOON)))
                .getMessage().contains("LOCAL TIME"));
        assertTrue(assertThrows(ValueProblem.class, () -> write(new byte[1])).getMessage().contains("BYTES"));
        assertThrows(ValueProblem.class, () -> write("\uD83D"));
        assertThrows(ValueProblem.class, () -> write(Map.of("a\uDE00", 1L)));
    }

    @Test
    void whatIsNestedTooDeepIsRefused() {
        Object deep = 1L;
        for (int i = 0; i <= Json.MAX_DEPTH; i++) {
            deep = List.of(deep);
        }
        Object value = deep;
        assertThrows(ValueProblem.class, () -> write(value));
    }

    @ParameterizedTest
    @ValueSource(strings = {
        "9223372036854775808", "-9223372036854775809", "1e400", "{\"$nope\":1}", "{\"$date\":\"2023-02-29\"}",
        "{\"$date\":5}", "{\"$float\":\"1\"}", "{\"a\":1,\"a\":1}", "{\"$map\":3}", "\"\\ud83d\"",
        "{\"$datetime\":\"2024-02-29T10:11:12\"}", "{\"$b\":{\"a\":1,\"a\":null},\"c\":1}"
    })
    void aMalformedValueIsRefused(String json) {
        assertThrows(ValueProblem.class, () -> read(json));
    }

    @ParameterizedTest
    @ValueSource(strings = {"NaN", "[1,]", "{\"a\" 1}", "01", "tru", "\"\n\""})
    void whatIsNotJsonIsRefused(String json) {
        assertThrows(IOException.class, () -> read(json));
    }

    private static String write(Object value) {
        return LimitedText.of(1000000, json -> ValueWriter.write(json, value));
    }

    private static Object read(String text) throws IOException {
        try (JsonParser json = Json.FACTORY.createParser(text)) {
            json.nextToken();
            return ValueReader.read(json);
        }
    }
}
