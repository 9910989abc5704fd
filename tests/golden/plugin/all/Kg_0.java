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

public final class Kg_0 extends PythonNamespace {

    private static final PythonProcedure P0 = describeP0();

    private static PythonProcedure describeP0() {
        return PythonProcedure.named("kg.note")
                .signature("35d9881f02a6815b")
                .mode("WRITE")
                .timeoutMillis(30000L)
                .parameter("text", "STRING", false)
                .build();
    }

    @Procedure(name = "kg.note", mode = Mode.WRITE, eager = true)
    @Description("Write one note; no rows.")
    public void p0(
            @Name(value = "text", defaultValue = "", description = "what it says") String a0) {
        run(P0, a0);
    }

    private static final PythonProcedure P1 = describeP1();

    private static PythonProcedure describeP1() {
        return PythonProcedure.named("kg.old")
                .signature("f4d3a8a803106d0b")
                .mode("READ")
                .timeoutMillis(30000L)
                .column("value", "ANY")
                .build();
    }

    @Procedure(name = "kg.old", mode = Mode.READ, eager = true, deprecatedBy = "kg.similar")
    @Description("")
    @Deprecated
    @Admin
    public Stream<Row1> p1() {
        return call(P1, Row1::new);
    }

    public record Row1(
            Object value) {
        @SuppressWarnings({"cast", "unchecked"})
        Row1(Object[] row) {
            this(
                    (Object) row[0]);
        }
    }

    private static final PythonProcedure P2 = describeP2();

    private static PythonProcedure describeP2() {
        return PythonProcedure.named("kg.reset")
                .signature("21b1f766e5336cae")
                .mode("SCHEMA")
                .timeoutMillis(30000L)
                .availability("OFF")
                .build();
    }

    @Procedure(name = "kg.reset", mode = Mode.SCHEMA)
    @Description("")
    @Deprecated
    @Admin
    public void p2() {
        run(P2);
    }

    private static final PythonProcedure P3 = describeP3();

    private static PythonProcedure describeP3() {
        return PythonProcedure.named("kg.similar")
                .signature("4028df63372ac293")
                .mode("READ")
                .timeoutMillis(30000L)
                .parameter("node", "NODE", false)
                .column("score", "FLOAT")
                .column("other", "NODE")
                .availability("OPTIONAL")
                .singleRow()
                .build();
    }

    @Procedure(name = "kg.similar", mode = Mode.READ)
    @Description("Nodes most like this one.")
    public Stream<Row3> p3(
            @Name("node") org.neo4j.graphdb.Node a0) {
        return call(P3, Row3::new, a0);
    }

    public record Row3(
            @Description("0..1, cosine") Double score,
            org.neo4j.graphdb.Node other) {
        @SuppressWarnings({"cast", "unchecked"})
        Row3(Object[] row) {
            this(
                    (Double) row[0],
                    (org.neo4j.graphdb.Node) row[1]);
        }
    }

    private static final PythonProcedure P4 = describeP4();

    private static PythonProcedure describeP4() {
        return PythonProcedure.named("kg.types")
                .signature("5cdc2a816c5520f6")
                .mode("READ")
                .timeoutMillis(30000L)
                .parameter("p0", "BYTES", false)
                .parameter("p1", "LOCAL TIME", false)
                .parameter("p2", "ZONED TIME", false)
                .parameter("p3", "DURATION", false)
                .parameter("p4", "POINT", false)
                .parameter("p5", "NODE", false)
                .parameter("p6", "RELATIONSHIP", false)
                .parameter("p7", "PATH", false)
                .parameter("n0", "BYTES", true)
                .parameter("n1", "LOCAL TIME", true)
                .parameter("n2", "ZONED TIME", true)
                .parameter("n3", "DURATION", true)
                .parameter("n4", "POINT", true)
                .parameter("n5", "NODE", true)
                .parameter("n6", "RELATIONSHIP", true)
                .parameter("n7", "PATH", true)
                .parameter("many", "LIST<NODE>", false)
                .column("c0", "BYTES")
                .column("c1", "LOCAL TIME")
                .column("c2", "ZONED TIME")
                .column("c3", "DURATION")
                .column("c4", "POINT")
                .column("c5", "NODE")
                .column("c6", "RELATIONSHIP")
                .column("c7", "PATH")
                .column("l0", "LIST<BYTES>")
                .column("l1", "LIST<LOCAL TIME>")
                .column("l2", "LIST<ZONED TIME>")
                .column("l3", "LIST<DURATION>")
                .column("l4", "LIST<POINT>")
                .column("l5", "LIST<NODE>")
                .column("l6", "LIST<RELATIONSHIP>")
                .column("l7", "LIST<PATH>")
                .build();
    }

    @Procedure(name = "kg.types", mode = Mode.READ)
    @Description("Every type that github.json and types.json lack.")
    public Stream<Row4> p4(
            @Name("p0") byte[] a0,
            @Name("p1") java.time.LocalTime a1,
            @Name("p2") java.time.OffsetTime a2,
            @Name("p3") java.time.temporal.TemporalAmount a3,
            @Name("p4") org.neo4j.graphdb.spatial.Point a4,
            @Name("p5") org.neo4j.graphdb.Node a5,
            @Name("p6") org.neo4j.graphdb.Relationship a6,
            @Name("p7") org.neo4j.graphdb.Path a7,
            @Name(value = "n0", defaultValue = "null") Object a8,
            @Name(value = "n1", defaultValue = "null") Object a9,
            @Name(value = "n2", defaultValue = "null") Object a10,
            @Name(value = "n3", defaultValue = "null") Object a11,
            @Name(value = "n4", defaultValue = "null") Object a12,
            @Name(value = "n5", defaultValue = "null") Object a13,
            @Name(value = "n6", defaultValue = "null") Object a14,
            @Name(value = "n7", defaultValue = "null") Object a15,
            @Name(value = "many", defaultValue = "[]") List<org.neo4j.graphdb.Node> a16) {
        return call(P4, Row4::new, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16);
    }

    public record Row4(
            byte[] c0,
            java.time.LocalTime c1,
            java.time.OffsetTime c2,
            java.time.temporal.TemporalAmount c3,
            org.neo4j.graphdb.spatial.Point c4,
            org.neo4j.graphdb.Node c5,
            org.neo4j.graphdb.Relationship c6,
            org.neo4j.graphdb.Path c7,
            List<byte[]> l0,
            List<java.time.LocalTime> l1,
            List<java.time.OffsetTime> l2,
            List<java.time.temporal.TemporalAmount> l3,
            List<org.neo4j.graphdb.spatial.Point> l4,
            List<org.neo4j.graphdb.Node> l5,
            List<org.neo4j.graphdb.Relationship> l6,
            List<org.neo4j.graphdb.Path> l7) {
        @SuppressWarnings({"cast", "unchecked"})
        Row4(Object[] row) {
            this(
                    (byte[]) row[0],
                    (java.time.LocalTime) row[1],
                    (java.time.OffsetTime) row[2],
                    (java.time.temporal.TemporalAmount) row[3],
                    (org.neo4j.graphdb.spatial.Point) row[4],
                    (org.neo4j.graphdb.Node) row[5],
                    (org.neo4j.graphdb.Relationship) row[6],
                    (org.neo4j.graphdb.Path) row[7],
                    (List<byte[]>) row[8],
                    (List<java.time.LocalTime>) row[9],
                    (List<java.time.OffsetTime>) row[10],
                    (List<java.time.temporal.TemporalAmount>) row[11],
                    (List<org.neo4j.graphdb.spatial.Point>) row[12],
                    (List<org.neo4j.graphdb.Node>) row[13],
                    (List<org.neo4j.graphdb.Relationship>) row[14],
                    (List<org.neo4j.graphdb.Path>) row[15]);
        }
    }

    private static final PythonProcedure F0 = describeF0();

    private static PythonProcedure describeF0() {
        return PythonProcedure.named("kg.hash")
                .signature("4169b89d4c3ca395")
                .mode("READ")
                .timeoutMillis(500L)
                .parameter("content", "BYTES", true)
                .column("value", "BYTES")
                .function()
                .build();
    }

    @UserFunction(name = "kg.hash")
    @Description("")
    @SuppressWarnings({"cast", "unchecked"})
    public byte[] f0(
            @Name(value = "content", defaultValue = "null") Object a0) {
        return (byte[]) evaluate(F0, a0);
    }

    private static final PythonProcedure F1 = describeF1();

    private static PythonProcedure describeF1() {
        return PythonProcedure.named("kg.old")
                .signature("32b496175fa9b199")
                .mode("READ")
                .timeoutMillis(30000L)
                .parameter("text", "STRING", true)
                .column("value", "STRING")
                .availability("OPTIONAL")
                .function()
                .build();
    }

    @UserFunction(name = "kg.old", deprecatedBy = "kg.similar")
    @Description("")
    @Deprecated
    @SuppressWarnings({"cast", "unchecked"})
    public String f1(
            @Name("text") String a0) {
        return (String) evaluate(F1, a0);
    }

    private static final PythonProcedure F2 = describeF2();

    private static PythonProcedure describeF2() {
        return PythonProcedure.named("kg.older")
                .signature("7c180120bbd7227e")
                .mode("READ")
                .timeoutMillis(30000L)
                .column("value", "LIST<LIST<MAP>>")
                .function()
                .build();
    }

    @UserFunction(name = "kg.older", deprecatedBy = "*/ \\u0022 \"")
    @Description("")
    @Deprecated
    @SuppressWarnings({"cast", "unchecked"})
    public List<List<java.util.Map<String, Object>>> f2() {
        return (List<List<java.util.Map<String, Object>>>) evaluate(F2);
    }

    private static final PythonProcedure F3 = describeF3();

    private static PythonProcedure describeF3() {
        return PythonProcedure.named("kg.pick")
                .signature("a98309ffe81a2c1c")
                .mode("READ")
                .timeoutMillis(30000L)
                .parameter("a", "ANY", true)
                .parameter("b", "INTEGER", false)
                .column("value", "ANY")
                .availability("OFF")
                .function()
                .build();
    }

    @UserFunction(name = "kg.pick")
    @Description("")
    @SuppressWarnings({"cast", "unchecked"})
    public Object f3(
            @Name("a") Object a0,
            @Name(value = "b", defaultValue = "-1") Long a1) {
        return (Object) evaluate(F3, a0, a1);
    }

    private static final PythonProcedure F4 = describeF4();

    private static PythonProcedure describeF4() {
        return PythonProcedure.named("kg.similar")
                .signature("40da0ead0aa7433d")
                .mode("READ")
                .timeoutMillis(30000L)
                .parameter("one", "NODE", false)
                .parameter("other", "NODE", true)
                .column("value", "FLOAT")
                .function()
                .build();
    }

    @UserFunction(name = "kg.similar")
    @Description("How alike two nodes are.")
    @SuppressWarnings({"cast", "unchecked"})
    public Double f4(
            @Name("one") org.neo4j.graphdb.Node a0,
            @Name("other") org.neo4j.graphdb.Node a1) {
        return (Double) evaluate(F4, a0, a1);
    }
}
