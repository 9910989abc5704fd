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

public final class Kg_1 extends PythonNamespace {

    private static final PythonProcedure P0 = describeP0();

    private static PythonProcedure describeP0() {
        return PythonProcedure.named("kg.link")
                .signature("e11038fab07d8025")
                .mode("WRITE")
                .timeoutMillis(5000L)
                .parameter("from", "STRING", false)
                .parameter("to", "STRING", false)
                .parameter("weight", "FLOAT", false)
                .column("created", "BOOLEAN")
                .build();
    }

    @Procedure(name = "kg.link", mode = Mode.WRITE)
    @Description("Link two nodes.")
    public Stream<Row0> p0(
            @Name("from") String a0,
            @Name("to") String a1,
            @Name(value = "weight", defaultValue = "0.5") Double a2) {
        return call(P0, Row0::new, a0, a1, a2);
    }

    public record Row0(
            Boolean created) {
        @SuppressWarnings({"cast", "unchecked"})
        Row0(Object[] row) {
            this(
                    (Boolean) row[0]);
        }
    }
}
