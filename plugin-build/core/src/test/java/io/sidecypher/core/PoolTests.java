package io.sidecypher.core;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.neo4j.kernel.api.exceptions.Status;

/** Many callers share few connections; who cannot be served is told, and nested calls never wait. */
@Timeout(20)
class PoolTests {
    @TempDir Path runDir;

    @Test
    void manyCallersShareThePool() throws Exception {
        AtomicInteger running = new AtomicInteger();
        AtomicInteger most = new AtomicInteger();
        FakeSidecar.Script script = (peer, method, json) -> {
            most.accumulateAndGet(running.incrementAndGet(), Math::max);
            running.decrementAndGet();
            peer.rows(json, "[[1]]", false);
        };
        try (FakeSidecar sidecar = new FakeSidecar(script).announce(runDir)) {
            Harness harness = new Harness(runDir, "POOL_SIZE=4");
            List<Throwable> failures = inParallel(64, () -> {
                for (int i = 0; i < 20; i++) {
                    assertEquals(1L, harness.echo(1L));
                }
            });
            assertEquals(List.of(), failures);
            assertTrue(most.get() <= 4, most + " at once");
            assertTrue(sidecar.callConnections.get() <= 4, sidecar.callConnections + " connections");
        }
    }

    @Test
    void aThousandCallersAreServedWithoutAnError() throws Exception {
        try (FakeSidecar sidecar = new FakeSidecar((peer, method, json) -> peer.rows(json, "[[1]]", false))) {
            sidecar.announce(runDir);
            Harness harness = new Harness(runDir);
            assertEquals(List.of(), inParallel(1000, () -> assertEquals(1L, harness.echo(1L))));
            assertEquals(1000, sidecar.methods.size());
        }
    }

    @Test
    void threadsThatDieLeaveNoConnections() throws Exception {
        try (FakeSidecar sidecar = new FakeSidecar((peer, method, json) -> peer.rows(json, "[[1]]", false))) {
            sidecar.announce(runDir);
            Harness harness = new Harness(runDir, "POOL_SIZE=4");
            for (int i = 0; i < 300; i++) {
                assertEquals(List.of(), inParallel(1, () -> harness.echo(1L)));
            }
            assertEquals(1, sidecar.callConnections.get());
            assertEquals(List.of(), inParallel(300, () -> harness.echo(1L)));
            assertTrue(sidecar.open.size() <= 5, sidecar.open.size() + " connections");
        }
    }

    @Test
    void aFullQueueIsBusyAtOnceAndMayBeTriedAgain() throws Exception {
        CountDownLatch occupied = new CountDownLatch(1);
        CountDownLatch end = new CountDownLatch(1);
        FakeSidecar.Script script = (peer, method, json) -> {
            occupied.countDown();
            Harness.await(end);
            peer.rows(json, "[[1]]", false);
        };
        try (FakeSidecar sidecar = new FakeSidecar(script).announce(runDir)) {
            Harness harness = new Harness(runDir, "POOL_SIZE=1", "QUEUE_LIMIT=0");
            Thread holder = new Thread(() -> harness.echo(1L));
            holder.start();
            Harness.await(occupied);
            SidecypherException busy = harness.failure(Harness.ECHO, 1L);
            assertTrue(busy.text().startsWith("[SC-211]"), busy.text());
            assertEquals(Status.Classification.TransientError, busy.status().code().classification());
            end.countDown();
            holder.join();
        }
    }

    @Test
    void whoWaitsTooLongForAConnectionWasNotStarted() throws Exception {
        CountDownLatch occupied = new CountDownLatch(1);
        CountDownLatch end = new CountDownLatch(1);
        FakeSidecar.Script script = (peer, method, json) -> {
            occupied.countDown();
            Harness.await(end);
            peer.rows(json, "[[1]]", false);
        };
        try (FakeSidecar sidecar = new FakeSidecar(script).announce(runDir)) {
            Harness harness = new Harness(runDir, "POOL_SIZE=1");
            Thread holder = new Thread(() -> harness.echo(1L));
            holder.start();
            Harness.await(occupied);
            PythonProcedure quick = Harness.procedure("test.quick").timeoutMillis(150).build();
            assertTrue(harness.error(quick).contains("no connection became free within its timeout"));
            end.countDown();
            holder.join();
            assertEquals(List.of("call"), sidecar.methods);
        }
    }

    @Test
    void nestedCallsDoNotStarve() throws Exception {
        FakeSidecar.Script script = (peer, method, json) -> {
            if (json.contains("\"name\":\"test.outer\"")) {
                peer.run(json, "CALL test.echo(1)", "{}");
            }
            peer.rows(json, "[[1]]", false);
        };
        PythonProcedure outer = Harness.procedure("test.outer").column("x", "ANY").build();
        try (FakeSidecar sidecar = new FakeSidecar(script).announce(runDir)) {
            Harness harness = new Harness(runDir, "POOL_SIZE=2");
            harness.tx = Harness.transaction(
                    (cypher, parameters) -> List.of(Map.of("x", harness.echo(1L))), () -> {});
            assertEquals(List.of(), inParallel(24, () ->
                    assertEquals(List.of(List.of(1L)), harness.rows(outer))));
            Harness.await(() -> sidecar.open.size() <= 3);
        }
    }

    @Test
    void callsNestedWithoutEndAreRefused() throws Exception {
        FakeSidecar.Script script = (peer, method, json) -> {
            peer.run(json, "CALL test.echo(1)", "{}");
            peer.rows(json, "[[1]]", false);
        };
        try (FakeSidecar sidecar = new FakeSidecar(script).announce(runDir)) {
            Harness harness = new Harness(runDir);
            harness.tx = Harness.transaction(
                    (cypher, parameters) -> List.of(Map.of("x", harness.echo(1L))), () -> {});
            assertTrue(harness.error(Harness.ECHO, 1L).contains("8 deep"));
            assertEquals(9, sidecar.methods.size());
        }
    }

    private static List<Throwable> inParallel(int threads, Runnable body) throws InterruptedException {
        ConcurrentLinkedQueue<Throwable> failures = new ConcurrentLinkedQueue<>();
        List<Thread> started = new ArrayList<>();
        for (int i = 0; i < threads; i++) {
            Thread thread = new Thread(body);
            thread.setUncaughtExceptionHandler((self, failure) -> failures.add(failure));
            thread.start();
            started.add(thread);
        }
        for (Thread thread : started) {
            thread.join();
        }
        return List.copyOf(failures);
    }
}
