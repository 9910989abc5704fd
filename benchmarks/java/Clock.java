package io.sidecypher.bench;

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BrokenBarrierException;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import org.neo4j.graphdb.GraphDatabaseService;
import org.neo4j.graphdb.Result;
import org.neo4j.graphdb.Transaction;
import org.neo4j.procedure.Context;
import org.neo4j.procedure.Mode;
import org.neo4j.procedure.Name;
import org.neo4j.procedure.Procedure;

/** Measures queries inside the server, without the time of Bolt and the driver. */
public final class Clock {
    /**
     * The times of a query.
     *
     * @param cpu CPU time of its thread; the rest of the time it waited
     */
    public record Nanos(Long nanos, Long cpu) {}

    public record Load(Long calls, Long nanos, Long p50, Long p99) {}

    public record Machine(String jvm) {}

    private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();

    @Context public GraphDatabaseService database;

    @Procedure(name = "bench.machine", mode = Mode.READ)
    public Stream<Machine> machine() {
        return Stream.of(new Machine(
                System.getProperty("java.vm.name") + " " + System.getProperty("java.vm.version")));
    }

    /** Runs a query repeatedly, each time in its own transaction, and reads all its rows. */
    @Procedure(name = "bench.time", mode = Mode.READ)
    public Stream<Nanos> time(
            @Name("query") String query,
            @Name("parameters") Map<String, Object> parameters,
            @Name("repeats") long repeats) {
        return LongStream.range(0, repeats).mapToObj(ignored -> timed(query, parameters));
    }

    /**
     * Runs concurrent callers that read rows of a query, each with its own thread and transaction. Every
     * row must be a call.
     *
     * @param calls number of rows after which a caller stops
     * @param millis time after which it stops at the latest
     */
    @Procedure(name = "bench.load", mode = Mode.READ)
    public Stream<Load> load(
            @Name("query") String query,
            @Name("callers") long callers,
            @Name("calls") long calls,
            @Name("millis") long millis)
            throws InterruptedException, ExecutionException {
        int count = (int) callers;
        ExecutorService threads = Executors.newFixedThreadPool(count);
        try {
            CyclicBarrier start = new CyclicBarrier(count + 1);
            List<Future<long[]>> running = new ArrayList<>();
            for (int i = 0; i < count; i++) {
                running.add(threads.submit(() -> read(query, start, calls, millis)));
            }
            await(start);
            long begun = System.nanoTime();
            LongStream.Builder all = LongStream.builder();
            for (Future<long[]> caller : running) {
                Arrays.stream(caller.get()).forEach(all);
            }
            long elapsed = System.nanoTime() - begun;
            long[] sorted = all.build().sorted().toArray();
            return Stream.of(new Load(
                    (long) sorted.length, elapsed, sorted[sorted.length / 2], sorted[sorted.length * 99 / 100]));
        } finally {
            threads.shutdownNow();
        }
    }

    private Nanos timed(String query, Map<String, Object> parameters) {
        try (Transaction tx = database.beginTx()) {
            long begun = System.nanoTime();
            long worked = THREADS.getCurrentThreadCpuTime();
            try (Result result = tx.execute(query, parameters)) {
                while (result.hasNext()) {
                    result.next();
                }
            }
            return new Nanos(System.nanoTime() - begun, THREADS.getCurrentThreadCpuTime() - worked);
        }
    }

    private long[] read(String query, CyclicBarrier start, long calls, long millis) {
        LongStream.Builder latencies = LongStream.builder();
        try (Transaction tx = database.beginTx()) {
            await(start);
            long before = System.nanoTime();
            long end = before + TimeUnit.MILLISECONDS.toNanos(millis);
            try (Result result = tx.execute(query)) {
                for (long done = 0; done < calls && before < end && result.hasNext(); done++) {
                    result.next();
                    long after = System.nanoTime();
                    latencies.add(after - before);
                    before = after;
                }
            }
        }
        return latencies.build().toArray();
    }

    private static void await(CyclicBarrier start) {
        try {
            start.await(10, TimeUnit.SECONDS);
        } catch (InterruptedException | BrokenBarrierException | java.util.concurrent.TimeoutException failed) {
            throw new IllegalStateException("the callers did not start together", failed);
        }
    }
}
