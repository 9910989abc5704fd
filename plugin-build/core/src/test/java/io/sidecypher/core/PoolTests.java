package io.sidecypher.core;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.neo4j.kernel.api.exceptions.Status;

/** Many callers share few connections; who cannot be served is told, and nested calls never wait. */
@Timeout(120)
class PoolTests {
    @TempDir Path runDir;

    private static final List<List<Object>> ONE = List.of(List.of(1L));
    /** For tests of many callers, each of which waits for many others. */
    private static final PythonProcedure PATIENT =
            Harness.procedure("test.patient").timeoutMillis(60_000).column("x", "ANY").build();

    @Test
    void aSidecarThatTakesNoMoreConnectionsIsBusyAndNotAvoided() throws Exception {
        CountDownLatch end = new CountDownLatch(1);
        try (FakeSidecar sidecar = new FakeSidecar(FakeSidecar.echoOr((peer, method, json) -> {
            Harness.await(end);
            peer.rows(json, "[[1]]", false);
        }))) {
            sidecar.announce(runDir);
            Harness harness = new Harness(runDir, "CIRCUIT_MS=600000");
            assertEquals(1L, harness.echo(1L));
            sidecar.isFull = true;
            Thread holder = new Thread(() -> harness.rows(Harness.procedure("test.hold").column("x", "ANY").build()));
            holder.start();
            Harness.await(() -> sidecar.methods.size() == 2);

            SidecypherException busy = harness.failure(Harness.ECHO, 1L);
            assertTrue(busy.text().startsWith("[SC-211]"), busy.text());
            assertEquals("Neo.TransientError.Request.NoThreadsAvailable", busy.status().code().serialize());

            end.countDown();
            holder.join();
            assertEquals(1L, harness.echo(1L));
        }
    }

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
                    assertEquals(ONE, harness.rows(PATIENT));
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
            assertEquals(List.of(), inParallel(1000, () -> assertEquals(ONE, harness.rows(PATIENT))));
            assertEquals(1000, sidecar.methods.size());
        }
    }

    @Test
    void ofAThousandCallersAtOnceThoseBeyondTheQueueAreBusyAndAllOthersServed() throws Exception {
        CountDownLatch end = new CountDownLatch(1);
        FakeSidecar.Script script = (peer, method, json) -> {
            Harness.await(end);
            peer.rows(json, "[[1]]", false);
        };
        AtomicInteger busy = new AtomicInteger();
        AtomicInteger served = new AtomicInteger();
        try (FakeSidecar sidecar = new FakeSidecar(script).announce(runDir)) {
            Harness harness = new Harness(runDir, "POOL_SIZE=16", "QUEUE_LIMIT=600");
            assertEquals(List.of(), inParallel(1000, () -> {
                try {
                    assertEquals(ONE, harness.rows(PATIENT));
                    served.incrementAndGet();
                } catch (SidecypherException refused) {
                    assertTrue(refused.text().contains("600 callers wait"), refused.text());
                    // Nobody is served before the last one has been refused.
                    if (busy.incrementAndGet() == 384) {
                        end.countDown();
                    }
                }
            }));
            assertEquals(384, busy.get());
            assertEquals(616, served.get());
            assertEquals(16, sidecar.callConnections.get());
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
            assertEquals(List.of(), inParallel(300, () -> harness.rows(PATIENT)));
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

    /** The body would plan with more time than it has, and be cut off. */
    @ParameterizedTest
    @ValueSource(strings = {"call", "page"})
    void theTimeThatARequestWaitedForAConnectionIsNotLeft(String request) throws Exception {
        CountDownLatch occupied = new CountDownLatch(1);
        CountDownLatch end = new CountDownLatch(1);
        AtomicLong left = new AtomicLong();
        FakeSidecar.Script script = (peer, method, json) -> {
            if (json.contains("test.holder")) {
                occupied.countDown();
                Harness.await(end);
                peer.rows(json, "[[1]]", false);
            } else {
                left.set(Long.parseLong(json.replaceFirst(".*\"remaining_ms\":(\\d+).*", "$1")));
                peer.rows(json, "[[1]]", request.equals("page") && method.equals("call"));
            }
        };
        PythonProcedure rows = Harness.procedure("test.rows").timeoutMillis(60_000).column("x", "ANY").build();
        PythonProcedure holds = Harness.procedure("test.holder").timeoutMillis(60_000).column("x", "ANY").build();
        try (FakeSidecar sidecar = new FakeSidecar(script).announce(runDir)) {
            Harness harness = new Harness(runDir, "POOL_SIZE=1");
            Thread holder = new Thread(() -> harness.rows(holds));
            Runnable hold = () -> {
                holder.start();
                Harness.await(occupied);
            };
            Thread waiter = new Thread(() -> {
                if (request.equals("call")) {
                    hold.run();
                }
                try (Stream<Object[]> stream = harness.stream(rows)) {
                    if (request.equals("page")) {
                        hold.run();
                    }
                    stream.count();
                }
            });
            waiter.start();
            Harness.await(occupied);
            Harness.await(() -> waiter.getState() == Thread.State.TIMED_WAITING);
            long since = System.nanoTime();
            Harness.await(() -> System.nanoTime() - since > 1_000_000_000L);
            end.countDown();
            waiter.join();
            holder.join();
            assertTrue(left.get() <= 59_000, left + " ms were left");
        }
    }

    @Test
    void aStreamWhosePageWaitsTooLongForAConnectionIsCancelled() throws Exception {
        withoutAConnectionForItsPage(new AtomicBoolean(), "deadline", stream -> {
            SidecypherException failure = assertThrows(SidecypherException.class, stream::count);
            assertTrue(failure.text().startsWith("[SC-213]"), failure.text());
        });
    }

    @Test
    void aStreamThatIsTerminatedWhileItsPageWaitsForAConnectionIsCancelled() throws Exception {
        AtomicBoolean terminated = new AtomicBoolean();
        withoutAConnectionForItsPage(terminated, "terminated", stream -> {
            terminated.set(true);
            assertThrows(IllegalStateException.class, stream::count);
        });
    }

    /**
     * Reads on in a stream while another call has the only connection.
     *
     * @param terminated whether its transaction is, which its own thread does not notice
     * @param reason the one for which the sidecar must be asked to cancel
     */
    private void withoutAConnectionForItsPage(AtomicBoolean terminated, String reason, Consumer<Stream<?>> read)
            throws Exception {
        CountDownLatch occupied = new CountDownLatch(1);
        CountDownLatch end = new CountDownLatch(1);
        AtomicReference<String> id = new AtomicReference<>();
        FakeSidecar.Script script = (peer, method, json) -> {
            String name = FakeSidecar.member(json, "name");
            if (name.equals("test.rows")) {
                id.set(FakeSidecar.id(json));
            } else if (name.equals("test.holder")) {
                occupied.countDown();
                Harness.await(end);
            }
            peer.rows(json, "[[1]]", name.equals("test.rows"));
        };
        PythonProcedure rows = Harness.procedure("test.rows").timeoutMillis(1500).column("x", "ANY").build();
        PythonProcedure holds = Harness.procedure("test.holder").column("x", "ANY").build();
        try (FakeSidecar sidecar = new FakeSidecar(script).announce(runDir)) {
            Harness harness = new Harness(runDir, "POOL_SIZE=1");
            Thread reader = Thread.currentThread();
            Thread holder = new Thread(() -> harness.rows(holds));
            // Connects, so that this is not the stream's time.
            harness.echo(1L);
            harness.guard = () -> {
                if (terminated.get() && Thread.currentThread() != reader) {
                    throw new IllegalStateException("terminated");
                }
            };
            try (Stream<Object[]> stream = harness.stream(rows)) {
                harness.guard = () -> {};
                holder.start();
                Harness.await(occupied);
                read.accept(stream);
            }
            String cancel = "\"id\":\"" + id.get() + "\",\"reason\":\"" + reason + "\"";
            Harness.await(() -> sidecar.controlRequests.stream().anyMatch(json -> json.contains(cancel)));
            assertEquals(List.of("call", "call", "call"), sidecar.methods);
            end.countDown();
            holder.join();
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
        PythonProcedure outer = Harness.procedure("test.outer").timeoutMillis(60_000).column("x", "ANY").build();
        try (FakeSidecar sidecar = new FakeSidecar(script).announce(runDir)) {
            Harness harness = new Harness(runDir, "POOL_SIZE=2");
            harness.tx = Harness.transaction(
                    (cypher, parameters) -> List.of(Map.of("x", harness.echo(1L))), () -> {});
            assertEquals(List.of(), inParallel(24, () ->
                    assertEquals(ONE, harness.rows(outer))));
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
