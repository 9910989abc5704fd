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

public final class KgSimilar_1 extends PythonNamespace {

    private static final PythonProcedure P0 = describeP0();

    private static PythonProcedure describeP0() {
        return PythonProcedure.named("kg.similar.batch")
                .signature("a81da50a481d9e92")
                .mode("READ")
                .timeoutMillis(30000L)
                .parameter("rows", "LIST<LIST<ANY>>", false)
                .column("index", "INTEGER")
                .column("score", "FLOAT")
                .column("other", "NODE")
                .column("error", "MAP")
                .build();
    }

    @Procedure(name = "kg.similar.batch", mode = Mode.READ)
    @Description("Nodes most like this one, for many rows.")
    public Stream<Row0> p0(
            @Name("rows") List<List<Object>> a0) {
        return call(P0, Row0::new, a0);
    }

    public record Row0(
            Long index,
            @Description("0..1, cosine") Double score,
            org.neo4j.graphdb.Node other,
            java.util.Map<String, Object> error) {
        @SuppressWarnings({"cast", "unchecked"})
        Row0(Object[] row) {
            this(
                    (Long) row[0],
                    (Double) row[1],
                    (org.neo4j.graphdb.Node) row[2],
                    (java.util.Map<String, Object>) row[3]);
        }
    }
}
