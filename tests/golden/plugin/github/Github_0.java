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

public final class Github_0 extends PythonNamespace {

    private static final PythonProcedure P0 = describeP0();

    private static PythonProcedure describeP0() {
        return PythonProcedure.named("github.getIssue")
                .signature("370fa68e02ca7653")
                .mode("READ")
                .timeoutMillis(30000L)
                .parameter("owner", "STRING", false)
                .parameter("repo", "STRING", false)
                .parameter("number", "INTEGER", false)
                .parameter("options", "MAP", false)
                .column("number", "INTEGER")
                .column("title", "STRING")
                .column("labels", "LIST<STRING>")
                .column("createdAt", "ZONED DATETIME")
                .cache("user")
                .build();
    }

    @Procedure(name = "github.getIssue", mode = Mode.READ)
    @Description("One issue, or no row when there is none.")
    public Stream<Row0> p0(
            @Name("owner") String a0,
            @Name("repo") String a1,
            @Name("number") Long a2,
            @Name(value = "options", defaultValue = "{}") java.util.Map<String, Object> a3) {
        return call(P0, Row0::new, a0, a1, a2, a3);
    }

    public record Row0(
            Long number,
            @Description("Its first line.") String title,
            List<String> labels,
            java.time.ZonedDateTime createdAt) {
        @SuppressWarnings({"cast", "unchecked"})
        Row0(Object[] row) {
            this(
                    (Long) row[0],
                    (String) row[1],
                    (List<String>) row[2],
                    (java.time.ZonedDateTime) row[3]);
        }
    }

    private static final PythonProcedure P1 = describeP1();

    private static PythonProcedure describeP1() {
        return PythonProcedure.named("github.getRepository")
                .signature("8a0df4e4ca7a2878")
                .mode("READ")
                .timeoutMillis(30000L)
                .parameter("owner", "STRING", false)
                .parameter("repo", "STRING", false)
                .column("fullName", "STRING")
                .column("stars", "INTEGER")
                .cache("all")
                .build();
    }

    @Procedure(name = "github.getRepository", mode = Mode.READ)
    @Description("One repository.")
    public Stream<Row1> p1(
            @Name("owner") String a0,
            @Name("repo") String a1) {
        return call(P1, Row1::new, a0, a1);
    }

    public record Row1(
            String fullName,
            Long stars) {
        @SuppressWarnings({"cast", "unchecked"})
        Row1(Object[] row) {
            this(
                    (String) row[0],
                    (Long) row[1]);
        }
    }
}
