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

public final class AB_3 extends PythonNamespace {

    private static final PythonProcedure P0 = describeP0();

    private static PythonProcedure describeP0() {
        return PythonProcedure.named("aB.call")
                .signature("6c8f399bd97aa383")
                .mode("READ")
                .timeoutMillis(30000L)
                .column("value", "MAP")
                .build();
    }

    @Procedure(name = "aB.call", mode = Mode.READ)
    @Description("")
    public Stream<Row0> p0() {
        return call(P0, Row0::new);
    }

    public record Row0(
            java.util.Map<String, Object> value) {
        @SuppressWarnings({"cast", "unchecked"})
        Row0(Object[] row) {
            this(
                    (java.util.Map<String, Object>) row[0]);
        }
    }
}
