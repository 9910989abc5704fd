package io.sidecypher.bench;

import java.util.stream.Stream;
import org.neo4j.procedure.Mode;
import org.neo4j.procedure.Name;
import org.neo4j.procedure.Procedure;

/** The cost of a call that does not leave the JVM. */
public final class Native {
    public record Text(String value) {}

    @Procedure(name = "bench.native", mode = Mode.READ)
    public Stream<Text> echo(@Name("value") String value) {
        return Stream.of(new Text(value));
    }
}
