package io.sidecypher.generated;

import io.sidecypher.core.PythonNamespace;
import io.sidecypher.core.PythonProcedure;
import java.util.List;
import java.util.stream.Stream;
import org.neo4j.procedure.Admin;
import org.neo4j.procedure.Description;
import org.neo4j.procedure.Mode;
import org.neo4j.procedure.Name;
import org.neo4j.procedure.Procedure;
import org.neo4j.procedure.UserFunction;

public final class Types_0 extends PythonNamespace {

    private static final PythonProcedure P0 = describeP0();

    private static PythonProcedure describeP0() {
        return PythonProcedure.named("types.defaults")
                .signature("d27f9e9c32d6a62c")
                .mode("SCHEMA")
                .timeoutMillis(30000L)
                .parameter("boolean", "BOOLEAN", false)
                .parameter("integer", "INTEGER", false)
                .parameter("float", "FLOAT", false)
                .parameter("string", "STRING", false)
                .parameter("map", "MAP", false)
                .parameter("list", "LIST<INTEGER>", false)
                .parameter("date", "DATE", true)
                .parameter("maybe", "INTEGER", true)
                .column("value", "ANY")
                .build();
    }

    @Procedure(name = "types.defaults", mode = Mode.SCHEMA)
    @Description("Every kind of default.")
    public Stream<Row0> p0(
            @Name(value = "boolean", defaultValue = "true") Boolean a0,
            @Name(value = "integer", defaultValue = "-1") Long a1,
            @Name(value = "float", defaultValue = "1e+16") Double a2,
            @Name(value = "string", defaultValue = "null") String a3,
            @Name(value = "map", defaultValue = "{a: [1, 'x']}") java.util.Map<String, Object> a4,
            @Name(value = "list", defaultValue = "[1, 2]") List<Long> a5,
            @Name(value = "date", defaultValue = "null") Object a6,
            @Name(value = "maybe", defaultValue = "null") Object a7) {
        return call(P0, Row0::new, a0, a1, a2, a3, a4, a5, a6, a7);
    }

    public record Row0(
            Object value) {
        @SuppressWarnings({"cast", "unchecked"})
        Row0(Object[] row) {
            this(
                    (Object) row[0]);
        }
    }

    private static final PythonProcedure P1 = describeP1();

    private static PythonProcedure describeP1() {
        return PythonProcedure.named("types.every")
                .signature("bde71ea22fd18c93")
                .mode("READ")
                .timeoutMillis(30000L)
                .parameter("p0", "BOOLEAN", false)
                .parameter("p1", "INTEGER", true)
                .parameter("p2", "FLOAT", false)
                .parameter("p3", "STRING", true)
                .parameter("p4", "MAP", false)
                .parameter("p5", "DATE", true)
                .parameter("p6", "LOCAL DATETIME", false)
                .parameter("p7", "ZONED DATETIME", true)
                .parameter("p8", "ANY", false)
                .parameter("p9", "LIST<ANY>", true)
                .parameter("p10", "LIST<DATE>", false)
                .parameter("p11", "LIST<LIST<MAP>>", true)
                .column("c0", "BOOLEAN")
                .column("c1", "INTEGER")
                .column("c2", "FLOAT")
                .column("c3", "STRING")
                .column("c4", "MAP")
                .column("c5", "DATE")
                .column("c6", "LOCAL DATETIME")
                .column("c7", "ZONED DATETIME")
                .column("c8", "ANY")
                .column("c9", "LIST<ANY>")
                .column("c10", "LIST<DATE>")
                .column("c11", "LIST<LIST<MAP>>")
                .build();
    }

    @Procedure(name = "types.every", mode = Mode.READ)
    @Description("Every type, both ways.")
    public Stream<Row1> p1(
            @Name("p0") Boolean a0,
            @Name("p1") Long a1,
            @Name("p2") Double a2,
            @Name("p3") String a3,
            @Name("p4") java.util.Map<String, Object> a4,
            @Name("p5") java.time.LocalDate a5,
            @Name("p6") java.time.LocalDateTime a6,
            @Name("p7") java.time.ZonedDateTime a7,
            @Name("p8") Object a8,
            @Name("p9") List<Object> a9,
            @Name("p10") List<java.time.LocalDate> a10,
            @Name("p11") List<List<java.util.Map<String, Object>>> a11) {
        return call(P1, Row1::new, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11);
    }

    public record Row1(
            Boolean c0,
            Long c1,
            Double c2,
            String c3,
            java.util.Map<String, Object> c4,
            java.time.LocalDate c5,
            java.time.LocalDateTime c6,
            java.time.ZonedDateTime c7,
            Object c8,
            List<Object> c9,
            List<java.time.LocalDate> c10,
            List<List<java.util.Map<String, Object>>> c11) {
        @SuppressWarnings({"cast", "unchecked"})
        Row1(Object[] row) {
            this(
                    (Boolean) row[0],
                    (Long) row[1],
                    (Double) row[2],
                    (String) row[3],
                    (java.util.Map<String, Object>) row[4],
                    (java.time.LocalDate) row[5],
                    (java.time.LocalDateTime) row[6],
                    (java.time.ZonedDateTime) row[7],
                    (Object) row[8],
                    (List<Object>) row[9],
                    (List<java.time.LocalDate>) row[10],
                    (List<List<java.util.Map<String, Object>>>) row[11]);
        }
    }
}
