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

public final class Row0_1 extends PythonNamespace {

    private static final PythonProcedure P0 = describeP0();

    private static PythonProcedure describeP0() {
        return PythonProcedure.named("Row0.Object")
                .signature("0b49f147d46ea58f")
                .mode("READ")
                .timeoutMillis(30000L)
                .column("a", "STRING")
                .column("A", "STRING")
                .build();
    }

    @Procedure(name = "Row0.Object", mode = Mode.READ)
    @Description("")
    public Stream<Row0> p0() {
        return call(P0, Row0::new);
    }

    public record Row0(
            String a,
            String A) {
        @SuppressWarnings({"cast", "unchecked"})
        Row0(Object[] row) {
            this(
                    (String) row[0],
                    (String) row[1]);
        }
    }
}
