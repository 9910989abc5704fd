package io.sidecypher.core;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.core.JsonParser;
import java.io.IOException;
import java.time.DateTimeException;
import java.time.Duration;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.time.OffsetTime;
import java.time.Period;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.time.ZonedDateTime;
import java.time.format.DateTimeFormatter;
import java.time.temporal.ChronoUnit;
import java.time.temporal.UnsupportedTemporalTypeException;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;
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
                LocalDate.of(-999999999, 1, 1), LocalDateTime.of(999999999, 12, 31, 23, 59, 59, 999999999),
                ZonedDateTime.of(-4712, 1, 1, 12, 0, 0, 0, ZoneOffset.UTC),
                LocalTime.MIDNIGHT, LocalTime.of(10, 11), LocalTime.MAX,
                OffsetTime.of(10, 11, 12, 100, ZoneOffset.UTC), OffsetTime.of(0, 0, 0, 0, ZoneOffset.ofHours(-18)),
                new CypherDuration(14, -3, 5, 999999999), new CypherDuration(0, 0, Long.MIN_VALUE, 0),
                CypherPoint.of(7203, 1.5, -0.0), CypherPoint.of(9157, 1, 2, 3),
                CypherPoint.of(4326, 13.4, 52.5), CypherPoint.of(4979, 180, -90, Double.MAX_VALUE),
                Map.of("a", List.of(new CypherDuration(1, 2, 3, 4), LocalTime.NOON)),
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

    /** Times of the most frequent form are read without a formatter, and must be what it makes of them. */
    @ParameterizedTest
    @ValueSource(strings = {
        "2024-02-29T10:11:12Z", "2024-02-29T10:11:12.5Z", "2024-02-29T10:11:12.000000001Z",
        "2024-02-29T10:11:12.123456789Z", "0000-01-01T00:00:00Z", "9999-12-31T23:59:59.999999999Z",
        "2024-02-29T10:11Z", "2024-02-29T10:11:12.Z", "2024-02-29T10:11:12.1234567891Z", "2024-02-29T10:11:12,5Z",
        "2023-02-29T10:11:12Z", "2024-13-01T10:11:12Z", "2024-02-29T24:00:00Z", "2024-02-29T23:59:60Z",
        "2024-02-29 10:11:12Z", "2024-02-29t10:11:12Z", "2024-02-29T10:11:12z", "2024/02/29T10:11:12Z",
        "2024-02-29T10:11:-1Z", "2024-02-29T10:11:12.-1Z", "+024-02-29T10:11:12Z", "-0044-02-29T10:11:12Z",
        "\u0662024-02-29T10:11:12Z", "2024-02-29T10:11:12.\u0665Z", "2024-02-29T10:11:12.5", "Z", "",
        "2024-02-29T10:11:12Z[UTC]", "2024-02-29T10:11:12ZZ", "2024-02-29T10:11:12+00:00"
    })
    void aMomentIsReadAsAFormatterReadsIt(String text) {
        assertEquals(
                attempt(() -> ZonedDateTime.parse(text, DateTimeFormatter.ISO_ZONED_DATE_TIME)),
                attempt(() -> ZonedDateTimes.parse(text)));
    }

    private static Object attempt(Supplier<ZonedDateTime> read) {
        try {
            return read.get();
        } catch (DateTimeException none) {
            return "none";
        }
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
        assertEquals("{\"$date\":\"+10000-01-01\"}", write(LocalDate.of(10000, 1, 1)));
        assertEquals("{\"$date\":\"-0044-03-15\"}", write(LocalDate.of(-44, 3, 15)));
        assertEquals("{\"$localtime\":\"10:11:00\"}", write(LocalTime.of(10, 11)));
        assertEquals("{\"$time\":\"10:11:12.123456789+01:00\"}",
                write(OffsetTime.of(10, 11, 12, 123456789, ZoneOffset.ofHours(1))));
        assertEquals("{\"$duration\":[14,3,-5,7]}", write(new CypherDuration(14, 3, -5, 7)));
        assertEquals("{\"$point\":[4326,13.4,52.5]}", write(CypherPoint.of(4326, 13.4, 52.5)));
        assertEquals("{\"$bytes\":\"AP8=\"}", write(new byte[] {0, -1}));
    }

    @Test
    void bytesComeBackAsTheyWent() throws IOException {
        for (byte[] bytes : List.of(new byte[0], new byte[] {0, -1, 127, -128})) {
            assertArrayEquals(bytes, (byte[]) read(write(bytes)));
        }
    }

    @Test
    void anyDurationHasTheFourPartsOfCyphers() throws IOException {
        assertEquals(new CypherDuration(14, 3, 0, 0), read(write(Period.of(1, 2, 3))));
        assertEquals(new CypherDuration(0, 0, -1, 999999999), read(write(Duration.ofNanos(-1))));
        assertThrows(ValueProblem.class, () -> new CypherDuration(Long.MAX_VALUE, 0, 0, 0));
        assertThrows(ValueProblem.class, () -> new CypherDuration(0, 0, Long.MAX_VALUE, 1_000_000_000));
    }

    @Test
    void aDurationMovesATimeAsNeo4jsOwnDoes() {
        LocalDateTime start = LocalDateTime.of(2024, 1, 31, 0, 0);
        CypherDuration duration = new CypherDuration(1, 1, 60, 5);
        assertEquals(LocalDateTime.of(2024, 3, 1, 0, 1, 0, 5), start.plus(duration));
        assertEquals(LocalDateTime.of(2023, 12, 29, 23, 58, 59, 999999995), start.minus(duration));
        assertThrows(UnsupportedTemporalTypeException.class, () -> duration.get(ChronoUnit.HOURS));
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
        assertTrue(assertThrows(ValueProblem.class, () -> write(List.of(new StringBuilder())))
                .getMessage().contains("StringBuilder"));
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
        "{\"$datetime\":\"2024-02-29T10:11:12\"}", "{\"$b\":{\"a\":1,\"a\":null},\"c\":1}",
        "{\"$time\":\"10:11:12\"}", "{\"$localtime\":\"10:11:12Z\"}", "{\"$localtime\":\"24:00\"}",
        "{\"$datetime\":\"2024-02-29T10:11:12+01:00[No/Where]\"}", "{\"$bytes\":\"?\"}", "{\"$bytes\":null}",
        "{\"$duration\":[1,2,3]}", "{\"$duration\":[1,2,3,4.0]}", "{\"$duration\":[1,2,3,null]}",
        "{\"$duration\":[0,0,9223372036854775807,9000000000]}",
        "{\"$point\":[]}", "{\"$point\":[4326]}", "{\"$point\":[4326,1.0,2.0,3.0]}", "{\"$point\":[1,1.0,2.0]}",
        "{\"$point\":[4326,1.0,90.1]}", "{\"$point\":[4326.0,1.0,2.0]}", "{\"$point\":[7203,1.0,\"2\"]}",
        "{\"$date\":null}", "{\"$float\":null}", "{\"$map\":null}", "{\"$node\":null}", "{\"$path\":[[],[]]}",
        "{\"$node\":[\"a\",[]]}", "{\"$node\":[1,[],{}]}", "{\"$relationship\":[\"a\",[],{}]}",
        "{\"$path\":[[]]}", "{\"$path\":[{},{}]}", "{\"$path\":[[\"a\"],[]]}"
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
            return new ValueReader(json, new Entities(null)).read();
        }
    }
}
