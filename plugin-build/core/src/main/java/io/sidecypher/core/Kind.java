package io.sidecypher.core;

import com.fasterxml.jackson.core.JsonGenerator;
import java.io.IOException;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.time.OffsetTime;
import java.time.ZonedDateTime;
import java.time.format.DateTimeFormatter;
import java.time.temporal.TemporalAccessor;
import java.time.temporal.TemporalAmount;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.neo4j.graphdb.Node;
import org.neo4j.graphdb.Path;
import org.neo4j.graphdb.Relationship;
import org.neo4j.graphdb.spatial.Point;

/**
 * The table of Cypher types: Java class, tag, writer and reader of each type.
 *
 * <p>A tag is the only key of a JSON object that represents a value without a JSON type.
 */
enum Kind {
    BOOLEAN(Boolean.class, JsonGenerator::writeBoolean),
    INTEGER(Long.class, JsonGenerator::writeNumber),
    FLOAT("$float", Double.class, Kind::writeFloat, (in, plain) -> notFinite(TaggedValues.text(plain))),
    STRING(String.class, (json, text) -> json.writeString(Json.wellFormed(text))),
    BYTES(
            "$bytes",
            byte[].class,
            (json, bytes) -> writeTag(json, "$bytes", Base64.getEncoder().encodeToString(bytes)),
            (in, plain) -> bytes(TaggedValues.text(plain))),
    LIST(List.class, ValueWriter::writeList),
    MAP("$map", Map.class, ValueWriter::writeMap, TaggedValues::members),
    DATE("$date", LocalDate.class, DateTimeFormatter.ISO_LOCAL_DATE, LocalDate::parse),
    LOCAL_TIME("$localtime", LocalTime.class, DateTimeFormatter.ISO_LOCAL_TIME, LocalTime::parse),
    ZONED_TIME("$time", OffsetTime.class, DateTimeFormatter.ISO_OFFSET_TIME, OffsetTime::parse),
    LOCAL_DATETIME("$localdatetime", LocalDateTime.class, DateTimeFormatter.ISO_LOCAL_DATE_TIME, LocalDateTime::parse),
    ZONED_DATETIME("$datetime", ZonedDateTime.class, DateTimeFormatter.ISO_ZONED_DATE_TIME, ZonedDateTimes::parse),
    DURATION("$duration", TemporalAmount.class, Kind::writeDuration, (in, plain) -> TaggedValues.duration(plain)),
    POINT("$point", Point.class, Kind::writePoint, (in, plain) -> TaggedValues.point(plain)),
    NODE("$node", Node.class, Entities::write, TaggedValues::node),
    RELATIONSHIP("$relationship", Relationship.class, Entities::write, TaggedValues::relationship),
    PATH("$path", Path.class, Entities::write, TaggedValues::path),
    /** Exists in Neo4j 2025.10 and later; the core is compiled against 5.26, which has no such class. */
    VECTOR(classOrNone("org.neo4j.graphdb.Vector"), Kind::refuseVector),
    ANY(Object.class, (json, value) -> {
        throw new ValueProblem("holds a value of type " + value.getClass().getSimpleName()
                + ", which cannot be sent to Python");
    });

    /** Writes a value of the type, never null. */
    @FunctionalInterface
    interface Writer<T> {
        void write(JsonGenerator json, T value) throws IOException;
    }

    /** Converts the JSON under a tag; a DateTimeException or IllegalArgumentException means that it is malformed. */
    @FunctionalInterface
    interface Reader {
        Object read(TaggedValues in, Object plain);
    }

    private static final int BASE64_GROUP = 4;
    private static final Kind[] ALL = values();
    private static final Map<String, Kind> BY_TAG = Stream.of(ALL)
            .filter(kind -> kind.tag != null)
            .collect(Collectors.toUnmodifiableMap(kind -> kind.tag, kind -> kind));
    private static final ClassValue<Kind> BY_CLASS = new ClassValue<>() {
        @Override
        protected Kind computeValue(Class<?> type) {
            return Stream.of(ALL).filter(kind -> kind.javaClass.isAssignableFrom(type)).findFirst().orElse(ANY);
        }
    };

    private final String tag;
    private final Class<?> javaClass;
    private final Writer<Object> writer;
    private final Reader reader;

    <T> Kind(Class<T> javaClass, Writer<? super T> writer) {
        this(null, javaClass, writer, null);
    }

    <T extends TemporalAccessor> Kind(
            String tag, Class<T> javaClass, DateTimeFormatter formatter, Function<String, T> parser) {
        this(
                tag,
                javaClass,
                (json, time) -> writeTag(json, tag, formatter.format(time)),
                (in, plain) -> parser.apply(TaggedValues.text(plain)));
    }

    @SuppressWarnings("unchecked")
    <T> Kind(String tag, Class<T> javaClass, Writer<? super T> writer, Reader reader) {
        this.tag = tag;
        this.javaClass = javaClass;
        this.writer = (Writer<Object>) writer;
        this.reader = reader;
    }

    /** Returns the type of a value in the Java form of its type. */
    static Kind of(Object value) {
        return BY_CLASS.get(value.getClass());
    }

    /** Returns the type of a tag, or null. */
    static Kind ofTag(String tag) {
        return BY_TAG.get(tag);
    }

    /** Returns whether several calls may get one value: it belongs to no transaction, and cannot be changed. */
    boolean isShareable() {
        return this != NODE && this != RELATIONSHIP && this != PATH && this != BYTES;
    }

    /** Returns the name in Cypher. */
    String cypherName() {
        return name().replace('_', ' ');
    }

    boolean accepts(Object value) {
        return javaClass.isInstance(value);
    }

    void write(JsonGenerator json, Object value) throws IOException {
        writer.write(json, value);
    }

    Object read(TaggedValues in, Object plain) {
        return reader.read(in, plain);
    }

    private static void writeTag(JsonGenerator json, String tag, String text) throws IOException {
        json.writeStartObject();
        json.writeStringField(tag, text);
        json.writeEndObject();
    }

    private static void writeFloat(JsonGenerator json, double number) throws IOException {
        if (Double.isFinite(number)) {
            json.writeNumber(number);
        } else {
            writeTag(json, "$float", Double.toString(number));
        }
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
        // Java's decoder accepts Base64 without padding; the sidecar's decoder does not.
        if (text.length() % BASE64_GROUP != 0) {
            throw new IllegalArgumentException();
        }
        return Base64.getDecoder().decode(text);
    }

    private static void writeDuration(JsonGenerator json, TemporalAmount amount) throws IOException {
        CypherDuration duration = CypherDuration.of(amount);
        json.writeStartObject();
        json.writeArrayFieldStart("$duration");
        json.writeNumber(duration.months());
        json.writeNumber(duration.days());
        json.writeNumber(duration.seconds());
        json.writeNumber(duration.nanoseconds());
        json.writeEndArray();
        json.writeEndObject();
    }

    private static void writePoint(JsonGenerator json, Point point) throws IOException {
        json.writeStartObject();
        json.writeArrayFieldStart("$point");
        json.writeNumber(point.getCRS().getCode());
        for (double coordinate : point.getCoordinate().getCoordinateCopy()) {
            json.writeNumber(coordinate);
        }
        json.writeEndArray();
        json.writeEndObject();
    }

    /** Returns the class of that name, or one without instances if this Neo4j does not have it. */
    private static Class<?> classOrNone(String name) {
        try {
            return Class.forName(name, false, Kind.class.getClassLoader());
        } catch (ClassNotFoundException olderNeo4j) {
            return Void.class;
        }
    }

    private static void refuseVector(JsonGenerator json, Object vector) {
        throw new ValueProblem("holds a VECTOR, which cannot cross to Python: convert it in Cypher with `"
                + toList(vector) + "(...)`");
    }

    /** Returns the Cypher function that converts a VECTOR: its Java interface has no coordinates. */
    static String toList(Object vector) {
        try {
            Object type = VECTOR.javaClass.getMethod("coordinateType").invoke(vector);
            return type.toString().startsWith("INTEGER") ? "toIntegerList" : "toFloatList";
        } catch (ReflectiveOperationException changed) {
            return "toFloatList";
        }
    }
}
