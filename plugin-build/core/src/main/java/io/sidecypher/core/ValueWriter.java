package io.sidecypher.core;

import com.fasterxml.jackson.core.JsonGenerator;
import java.io.IOException;
import java.lang.reflect.Array;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.time.OffsetTime;
import java.time.ZonedDateTime;
import java.time.format.DateTimeFormatter;
import java.time.temporal.TemporalAmount;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.neo4j.graphdb.Node;
import org.neo4j.graphdb.Path;
import org.neo4j.graphdb.Relationship;
import org.neo4j.graphdb.spatial.Point;

/** Writes Cypher values in the tagged JSON of the envelopes. */
final class ValueWriter {
    private ValueWriter() {}

    static void write(JsonGenerator json, Object raw) throws IOException {
        Object value = normal(raw);
        if (value == null) {
            json.writeNull();
        } else if (value instanceof String text) {
            json.writeString(Json.wellFormed(text));
        } else if (value instanceof Long number) {
            json.writeNumber(number);
        } else if (value instanceof Double number) {
            writeFloat(json, number);
        } else if (value instanceof Boolean bool) {
            json.writeBoolean(bool);
        } else if (value instanceof List<?> list) {
            writeList(json, list);
        } else if (value instanceof Map<?, ?> map) {
            writeMap(json, map);
        } else if (value instanceof Node node) {
            Entities.write(json, node);
        } else if (value instanceof Relationship relationship) {
            Entities.write(json, relationship);
        } else if (value instanceof Path path) {
            Entities.write(json, path);
        } else {
            writeOther(json, value);
        }
    }

    private static void writeOther(JsonGenerator json, Object value) throws IOException {
        if (value instanceof LocalDate date) {
            writeTag(json, "$date", DateTimeFormatter.ISO_LOCAL_DATE.format(date));
        } else if (value instanceof LocalDateTime time) {
            writeTag(json, "$localdatetime", DateTimeFormatter.ISO_LOCAL_DATE_TIME.format(time));
        } else if (value instanceof ZonedDateTime time) {
            writeTag(json, "$datetime", DateTimeFormatter.ISO_ZONED_DATE_TIME.format(time));
        } else if (value instanceof LocalTime time) {
            writeTag(json, "$localtime", DateTimeFormatter.ISO_LOCAL_TIME.format(time));
        } else if (value instanceof OffsetTime time) {
            writeTag(json, "$time", DateTimeFormatter.ISO_OFFSET_TIME.format(time));
        } else if (value instanceof TemporalAmount amount) {
            writeDuration(json, CypherDuration.of(amount));
        } else if (value instanceof Point point) {
            writePoint(json, point);
        } else if (value instanceof byte[] bytes) {
            writeTag(json, "$bytes", Base64.getEncoder().encodeToString(bytes));
        } else {
            throw new ValueProblem("holds a value of type " + typeName(value) + ", which Python cannot be given");
        }
    }

    /** The one Java form of a Cypher value: stored properties also come as small numbers and arrays. */
    static Object normal(Object value) {
        if (value instanceof Integer || value instanceof Short || value instanceof Byte) {
            return ((Number) value).longValue();
        }
        if (value instanceof Float number) {
            return number.doubleValue();
        }
        if (value instanceof Character character) {
            return character.toString();
        }
        if (value instanceof Object[] array) {
            return Arrays.asList(array);
        }
        if (value != null && value.getClass().isArray() && !(value instanceof byte[])) {
            List<Object> list = new ArrayList<>(Array.getLength(value));
            for (int i = 0; i < Array.getLength(value); i++) {
                list.add(normal(Array.get(value, i)));
            }
            return list;
        }
        return value;
    }

    /** The name of a value's type as Cypher writes it. */
    static String typeName(Object raw) {
        Object value = normal(raw);
        if (value instanceof Long) {
            return "INTEGER";
        } else if (value instanceof Double) {
            return "FLOAT";
        } else if (value instanceof LocalDateTime) {
            return "LOCAL DATETIME";
        } else if (value instanceof ZonedDateTime) {
            return "ZONED DATETIME";
        } else if (value instanceof LocalDate) {
            return "DATE";
        } else if (value instanceof LocalTime) {
            return "LOCAL TIME";
        } else if (value instanceof OffsetTime) {
            return "ZONED TIME";
        } else if (value instanceof TemporalAmount) {
            return "DURATION";
        } else if (value instanceof byte[]) {
            return "BYTES";
        }
        for (Class<?> named : List.of(
                String.class, Boolean.class, List.class, Map.class,
                Node.class, Relationship.class, Path.class, Point.class)) {
            if (named.isInstance(value)) {
                return named.getSimpleName().toUpperCase(Locale.ROOT);
            }
        }
        return value == null ? "NULL" : value.getClass().getSimpleName();
    }

    private static void writeFloat(JsonGenerator json, double number) throws IOException {
        if (Double.isFinite(number)) {
            json.writeNumber(number);
        } else {
            writeTag(json, "$float", Double.toString(number));
        }
    }

    private static void writeList(JsonGenerator json, List<?> list) throws IOException {
        json.writeStartArray();
        for (Object item : list) {
            write(json, item);
        }
        json.writeEndArray();
    }

    private static void writeMap(JsonGenerator json, Map<?, ?> map) throws IOException {
        boolean looksLikeTag = map.size() == 1 && ((String) map.keySet().iterator().next()).startsWith("$");
        json.writeStartObject();
        if (looksLikeTag) {
            json.writeObjectFieldStart("$map");
        }
        for (Map.Entry<?, ?> entry : map.entrySet()) {
            json.writeFieldName(Json.wellFormed((String) entry.getKey()));
            write(json, entry.getValue());
        }
        if (looksLikeTag) {
            json.writeEndObject();
        }
        json.writeEndObject();
    }

    private static void writeDuration(JsonGenerator json, CypherDuration duration) throws IOException {
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

    private static void writeTag(JsonGenerator json, String tag, String text) throws IOException {
        json.writeStartObject();
        json.writeStringField(tag, text);
        json.writeEndObject();
    }
}
