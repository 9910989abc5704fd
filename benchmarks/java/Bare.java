package io.sidecypher.bench;

import java.net.UnknownHostException;
import java.util.stream.Stream;
import org.neo4j.graphdb.Result;
import org.neo4j.graphdb.Transaction;
import org.neo4j.procedure.Context;
import org.neo4j.procedure.Mode;
import org.neo4j.procedure.Name;
import org.neo4j.procedure.Procedure;

/** The same calls over plain Py4J: pooled, without TLS and token. */
public final class Bare {
    public record Text(String value) {}

    /** The methods that Python offers. */
    public interface Endpoint {
        String call(String name, String payload, Object caller);
    }

    /** The methods that Python may call back. */
    public record Caller(Transaction tx) {
        public String run(String cypher) {
            StringBuilder rows = new StringBuilder();
            try (Result result = tx.execute(cypher)) {
                while (result.hasNext()) {
                    rows.append(result.next());
                }
            }
            return rows.toString();
        }
    }

    private static volatile Endpoint endpoint;

    @Context public Transaction tx;

    @Procedure(name = "bench.bareConnect", mode = Mode.READ)
    public void connect(@Name("port") long port) throws UnknownHostException {
        endpoint = BarePool.connect((int) port);
    }

    @Procedure(name = "bench.bareEcho", mode = Mode.READ)
    public Stream<Text> echo(@Name("value") String value) {
        return Stream.of(new Text(endpoint.call("echo", value, null)));
    }

    @Procedure(name = "bench.bareCallback", mode = Mode.READ)
    public Stream<Text> callback() {
        return Stream.of(new Text(endpoint.call("callback", "RETURN 1 AS one", new Caller(tx))));
    }
}
