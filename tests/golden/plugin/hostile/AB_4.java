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

public final class AB_4 extends PythonNamespace {

    private static final PythonProcedure P0 = describeP0();

    private static PythonProcedure describeP0() {
        return PythonProcedure.named("a_b.call")
                .signature("b0e0b54de3c5d1ac")
                .mode("READ")
                .timeoutMillis(30000L)
                .column("value", "LIST<ANY>")
                .build();
    }

    @Procedure(name = "a_b.call", mode = Mode.READ)
    @Description("")
    public Stream<Row0> p0() {
        return call(P0, Row0::new);
    }

    public record Row0(
            List<Object> value) {
        @SuppressWarnings({"cast", "unchecked"})
        Row0(Object[] row) {
            this(
                    (List<Object>) row[0]);
        }
    }
}
