package io.sidecypher.core;

import java.lang.reflect.Proxy;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.BooleanSupplier;
import java.util.function.Function;
import java.util.stream.Stream;
import org.neo4j.graphdb.ExecutionPlanDescription;
import org.neo4j.graphdb.QueryExecutionType;
import org.neo4j.graphdb.QueryExecutionType.QueryType;
import org.neo4j.graphdb.Result;
import org.neo4j.graphdb.Transaction;
import org.neo4j.logging.Log;
import org.neo4j.procedure.TerminationGuard;

/** Calls the bridge as a generated stub does, with stand-ins for what Neo4j would inject. */
final class Harness {
    interface Cypher {
        List<Map<String, Object>> run(String cypher, Map<String, Object> parameters);
    }

    static final PythonProcedure ECHO = PythonProcedure.named("test.echo")
            .signature("00")
            .mode("READ")
            .timeoutMillis(20_000)
            .parameter("x", "ANY", true)
            .column("x", "ANY")
            .build();

    private static final ExecutionPlanDescription PLAN = proxy(ExecutionPlanDescription.class,
            (name, arguments) -> name.equals("getName") ? "ProduceResults" : List.of());

    final Bridge bridge;
    final List<String> logged = new CopyOnWriteArrayList<>();
    private final Log log = proxy(Log.class, (name, arguments) -> logged.add(name + " " + arguments[0]));
    TerminationGuard guard = () -> {};
    Transaction tx = transaction((cypher, parameters) -> List.of(), () -> {});

    Harness(Path runDir, String... settings) {
        // A busy machine may take longer for its first TLS than the 2 s that are usual.
        Map<String, String> environment = new java.util.HashMap<>(Map.of(
                "SIDECYPHER_RUN_DIR", runDir.toString(), "SIDECYPHER_HANDSHAKE_TIMEOUT_MS", "60000"));
        for (String setting : settings) {
            environment.put("SIDECYPHER_" + setting.split("=")[0], setting.split("=", 2)[1]);
        }
        bridge = new Bridge(Settings.of(environment, null));
    }

    Stream<Object[]> stream(PythonProcedure procedure, Object... arguments) {
        return bridge.call(procedure, new Caller("neo4j", "tester", ""), tx, guard, log,
                Function.identity(), arguments);
    }

    List<List<Object>> rows(PythonProcedure procedure, Object... arguments) {
        try (Stream<Object[]> stream = stream(procedure, arguments)) {
            List<List<Object>> rows = new ArrayList<>();
            stream.forEach(row -> rows.add(java.util.Arrays.asList(row)));
            return rows;
        }
    }

    Object echo(Object value) {
        return rows(ECHO, value).get(0).get(0);
    }

    /** The message of the error a call must end with. */
    String error(PythonProcedure procedure, Object... arguments) {
        return failure(procedure, arguments).text();
    }

    SidecypherException failure(PythonProcedure procedure, Object... arguments) {
        try {
            rows(procedure, arguments);
        } catch (SidecypherException expected) {
            return expected;
        }
        throw new AssertionError("the call did not fail");
    }

    static Transaction transaction(Cypher cypher, Runnable terminate) {
        return streaming((text, parameters) -> cypher.run(text, parameters).iterator(), new AtomicInteger(), terminate);
    }

    interface Streaming {
        Iterator<Map<String, Object>> run(String cypher, Map<String, Object> parameters);
    }

    /**
     * @param open counts the results that are not closed
     */
    static Transaction streaming(Streaming cypher, AtomicInteger open, Runnable terminate) {
        return proxy(Transaction.class, (name, arguments) -> switch (name) {
            case "execute" -> {
                String text = (String) arguments[0];
                boolean explain = text.startsWith("EXPLAIN\n");
                open.incrementAndGet();
                yield result(typeOf(explain ? text.substring("EXPLAIN\n".length()) : text),
                        explain ? List.<Map<String, Object>>of().iterator() : cypher.run(text, parameters(arguments)),
                        open);
            }
            case "terminate" -> {
                terminate.run();
                yield null;
            }
            default -> throw new UnsupportedOperationException(name);
        });
    }

    static PythonProcedure.Builder procedure(String name) {
        return PythonProcedure.named(name).signature("00").mode("READ").timeoutMillis(20_000);
    }

    /** Waits for what another thread is about to do. */
    static void await(BooleanSupplier condition) {
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(15);
        while (!condition.getAsBoolean()) {
            if (System.nanoTime() - end > 0) {
                throw new AssertionError("the condition did not come true within 15 s");
            }
            pause(1);
        }
    }

    static void pause(long millis) {
        try {
            Thread.sleep(millis);
        } catch (InterruptedException unexpected) {
            throw new IllegalStateException(unexpected);
        }
    }

    static void await(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException unexpected) {
            throw new IllegalStateException(unexpected);
        }
    }

    void awaitLog(String text) {
        await(() -> logged.stream().anyMatch(line -> line.contains(text)));
    }

    static long millis(Runnable body) {
        long start = System.nanoTime();
        body.run();
        return TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - start);
    }

    @SuppressWarnings("unchecked")
    private static Map<String, Object> parameters(Object[] arguments) {
        return arguments.length > 1 ? (Map<String, Object>) arguments[1] : Map.of();
    }

    /** Statements say by their first word what they do. */
    private static QueryType typeOf(String cypher) {
        return switch (cypher.strip().split(" ")[0]) {
            case "WRITE" -> QueryType.READ_WRITE;
            case "SCHEMA" -> QueryType.SCHEMA_WRITE;
            case "DBMS" -> QueryType.DBMS;
            default -> QueryType.READ_ONLY;
        };
    }

    private static Result result(QueryType type, Iterator<Map<String, Object>> rows, AtomicInteger open) {
        AtomicReference<Map<String, Object>> first = new AtomicReference<>(rows.hasNext() ? rows.next() : null);
        List<String> columns = first.get() == null ? List.of() : List.copyOf(first.get().keySet());
        AtomicBoolean closed = new AtomicBoolean();
        return proxy(Result.class, (name, arguments) -> switch (name) {
            case "columns" -> columns;
            case "getExecutionPlanDescription" -> PLAN;
            case "getQueryExecutionType" -> QueryExecutionType.query(type);
            case "hasNext" -> first.get() != null || rows.hasNext();
            case "next" -> first.get() != null ? first.getAndSet(null) : rows.next();
            case "close" -> closed.getAndSet(true) ? null : open.decrementAndGet();
            default -> throw new UnsupportedOperationException(name);
        });
    }

    interface Answer {
        Object to(String name, Object[] arguments);
    }

    static <T> T proxy(Class<T> type, Answer answer) {
        return type.cast(Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] {type},
                (self, method, arguments) -> answer.to(method.getName(), arguments)));
    }
}
