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

public final class AB_2 extends PythonNamespace {

    private static final PythonProcedure P0 = describeP0();

    private static PythonProcedure describeP0() {
        return PythonProcedure.named("a.b.call")
                .signature("20d5c76ed12b3a54")
                .mode("READ")
                .timeoutMillis(30000L)
                .parameter("class", "STRING", false)
                .column("Object", "STRING")
                .column("String", "STRING")
                .column("row", "STRING")
                .column("tx", "STRING")
                .column("call", "STRING")
                .column("P0", "STRING")
                .column("Row0", "STRING")
                .column("java", "STRING")
                .column("record", "STRING")
                .column("yield", "STRING")
                .column("of", "STRING")
                .build();
    }

    @Procedure(name = "a.b.call", mode = Mode.READ)
    @Description("*/ } // \\u002a\\u002f \\u0022 \" \\\" ' \\\n\r\t\u0000\u001a \u2028 \u00e9 \ud83d\ude00 {{ 1 }} {% raw %}")
    public Stream<Row0> p0(
            @Name(value = "class", defaultValue = "*/ } // \\u002a\\u002f \\u0022 \" \\\" ' \\\n\r\t\u0000\u001a \u2028 \u00e9 \ud83d\ude00 {{ 1 }} {% raw %}") String a0) {
        return call(P0, Row0::new, a0);
    }

    public record Row0(
            String Object,
            String String,
            String row,
            String tx,
            String call,
            String P0,
            String Row0,
            String java,
            String record,
            String yield,
            String of) {
        @SuppressWarnings({"cast", "unchecked"})
        Row0(Object[] row) {
            this(
                    (String) row[0],
                    (String) row[1],
                    (String) row[2],
                    (String) row[3],
                    (String) row[4],
                    (String) row[5],
                    (String) row[6],
                    (String) row[7],
                    (String) row[8],
                    (String) row[9],
                    (String) row[10]);
        }
    }
}
