package io.sidecypher.core;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.neo4j.kernel.api.exceptions.Status;

/** Whatever the sidecar does, the caller gets one clear error in time and the next call can work. */
@Timeout(60)
class FaultTests {
    @TempDir Path runDir;

    private static final FakeSidecar.Script ONE = (peer, method, json) -> peer.rows(json, "[[1]]", false);

    @Test
    void withoutASidecarTheCallFailsAtOnceAndWasNotStarted() throws Exception {
        Harness harness = new Harness(runDir);
        assertTrue(harness.error(Harness.ECHO, 1L).startsWith("[SC-210] Python procedure `test.echo` was not started: "
                + "no sidecar has left its address in the run folder"));
        new FakeSidecar(ONE).announce(runDir).close();
        // The best of several tries: any one of them may have to wait for a processor.
        long best = Long.MAX_VALUE;
        for (int i = 0; i < 5; i++) {
            Harness fresh = new Harness(runDir);
            best = Math.min(best, Harness.millis(() ->
                    assertTrue(fresh.error(Harness.ECHO, 1L).startsWith("[SC-210]"))));
        }
        assertTrue(best < 500, best + " ms");
    }

    @Test
    void aListenerThatNeverAnswersIsUnavailable() throws Exception {
        try (FakeSidecar sidecar = new FakeSidecar(ONE);
                ServerSocket deaf = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            FakeSidecar.write(
                    runDir, FakeSidecar.fingerprint(), FakeSidecar.TOKEN, sidecar.entry(deaf.getLocalPort()));
            Harness harness = new Harness(runDir, "HANDSHAKE_TIMEOUT_MS=200");
            assertTrue(harness.error(Harness.ECHO, 1L).contains("it did not finish the handshake"));
        }
    }

    @Test
    void aSidecarOfAnotherVersionIsToldAsSuch() throws Exception {
        try (FakeSidecar sidecar = new FakeSidecar(ONE).announce(runDir)) {
            sidecar.version++;
            String error = new Harness(runDir).error(Harness.ECHO, 1L);
            assertTrue(error.startsWith("[SC-210]") && error.contains("does not speak version"), error);
            assertEquals(List.of(), sidecar.methods);
        }
    }

    @Test
    void aConnectionLostAfterSendingIsOutcomeUnknownAndNotRetried() throws Exception {
        FakeSidecar.Script script = (peer, method, json) -> peer.socket.close();
        try (FakeSidecar sidecar = new FakeSidecar(script).announce(runDir)) {
            assertTrue(new Harness(runDir).error(Harness.ECHO, 1L).startsWith("[SC-212]"));
            assertEquals(List.of("call"), sidecar.methods);
        }
    }

    @Test
    void halfAReplyNeverBecomesRows() throws Exception {
        FakeSidecar.Script script = (peer, method, json) -> {
            peer.raw("!ys{\"id\":\"" + FakeSidecar.id(json) + "\",\"rows\":[[1]],\"more\":false}");
            peer.socket.close();
        };
        try (FakeSidecar sidecar = new FakeSidecar(script).announce(runDir)) {
            assertTrue(new Harness(runDir).error(Harness.ECHO, 1L).startsWith("[SC-212]"));
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {
        "!ys{\"id\":\"other\",\"rows\":[[1]],\"more\":false}\n",
        "!ysnot json\n",
        "!ys\n",
        "!yv\n",
        "!xsprotocol error\n",
        "!\n",
        "!ys{\"id\":\"ID\",\"rows\":[[1]],\"more\":false\n",
        "!ys{\"id\":\"ID\",\"rows\":[[1]],\"more\":false} {}\n",
        "!ys{\"id\":\"ID\",\"rows\":[[1]]}\n",
        "!ys{\"id\":\"ID\",\"rows\":1,\"more\":false}\n",
        "!ys{\"id\":\"ID\",\"rows\":[1],\"more\":false}\n",
        "!ys{\"id\":\"ID\",\"rows\":[[NaN]],\"more\":false}\n",
        "!ys{\"id\":\"ID\",\"rows\":[],\"rows\":[],\"more\":false}\n",
        "!ys{\"id\":\"ID\",\"error\":{}}\n",
        "!ys[]\n",
    })
    void anAnswerThatBreaksTheProtocolClosesTheConnection(String answer) throws Exception {
        AtomicBoolean broken = new AtomicBoolean(true);
        FakeSidecar.Script script = (peer, method, json) -> {
            if (broken.get()) {
                peer.raw(answer.replace("ID", FakeSidecar.id(json)));
            } else {
                peer.rows(json, "[[1]]", false);
            }
        };
        try (FakeSidecar sidecar = new FakeSidecar(script).announce(runDir)) {
            Harness harness = new Harness(runDir);
            String error = harness.error(Harness.ECHO, 1L);
            assertTrue(error.startsWith("[SC-214] Python procedure `test.echo` got an answer"), error);
            broken.set(false);
            assertEquals(1L, harness.echo(1L));
            assertEquals(2, sidecar.callConnections.get());
        }
    }

    @Test
    void anAnswerNestedTooDeepOrNotUtf8BreaksTheProtocol() throws Exception {
        AtomicReference<byte[]> answer = new AtomicReference<>();
        try (FakeSidecar sidecar = new FakeSidecar((peer, method, json) -> peer.raw(answer.get())).announce(runDir)) {
            Harness harness = new Harness(runDir);
            answer.set(("!ys" + "[".repeat(100000) + "\n").getBytes("UTF-8"));
            assertTrue(harness.error(Harness.ECHO, 1L).startsWith("[SC-214]"));
            answer.set(new byte[] {'!', 'y', 's', (byte) 0xff, '\n'});
            assertTrue(harness.error(Harness.ECHO, 1L).startsWith("[SC-214]"));
        }
    }

    @Test
    void anAnswerOverTheLimitIsRefused() throws Exception {
        FakeSidecar.Script script = (peer, method, json) -> peer.raw("!ys" + "x".repeat(20000) + "\n");
        try (FakeSidecar sidecar = new FakeSidecar(script).announce(runDir)) {
            String error = new Harness(runDir, "MAX_LINE_BYTES=10000").error(Harness.ECHO, 1L);
            assertTrue(error.startsWith("[SC-216]") && error.contains("10000 bytes"), error);
        }
    }

    @Test
    void theDeadlineEndsACallThatPythonDoesNotEnd() throws Exception {
        CountDownLatch end = new CountDownLatch(1);
        try (FakeSidecar sidecar = new FakeSidecar(FakeSidecar.echoOr(waiting(end))).announce(runDir)) {
            Harness harness = new Harness(runDir);
            harness.echo(1L);
            PythonProcedure slow = Harness.procedure("test.slow").timeoutMillis(1500).build();
            long millis = Harness.millis(() -> {
                SidecypherException failure = harness.failure(slow);
                assertEquals(Status.Procedure.ProcedureTimedOut, failure.status());
                assertTrue(failure.text().startsWith(
                        "[SC-213] Python procedure `test.slow` did not finish within 1500 ms"));
            });
            assertTrue(millis >= 1500 && millis < 5000, millis + " ms");
            Harness.await(() -> !sidecar.controlRequests.isEmpty());
            assertTrue(sidecar.controlRequests.get(0).contains("\"reason\":\"deadline\""));
            end.countDown();
        }
    }

    @Test
    void aTerminatedTransactionFreesItsCallerWithNeo4jsOwnError() throws Exception {
        CountDownLatch end = new CountDownLatch(1);
        CountDownLatch terminated = new CountDownLatch(1);
        FakeSidecar.Script script = (peer, method, json) -> {
            terminated.countDown();
            waiting(end).answer(peer, method, json);
        };
        try (FakeSidecar sidecar = new FakeSidecar(script).announce(runDir)) {
            Harness harness = new Harness(runDir);
            RuntimeException own = new IllegalStateException("terminated");
            harness.guard = () -> {
                if (terminated.getCount() == 0) {
                    throw own;
                }
            };
            assertSame(own, assertThrows(IllegalStateException.class, () -> harness.echo(1L)));
            Harness.await(() -> !sidecar.controlRequests.isEmpty());
            assertTrue(sidecar.controlRequests.get(0).contains("\"reason\":\"terminated\""));
            end.countDown();
        }
    }

    @Test
    void aTerminatedTransactionEndsBetweenTwoPages() throws Exception {
        FakeSidecar.Script script = (peer, method, json) -> peer.rows(json, "[[1]]", true);
        try (FakeSidecar sidecar = new FakeSidecar(script).announce(runDir)) {
            Harness harness = new Harness(runDir);
            AtomicBoolean terminated = new AtomicBoolean();
            harness.guard = () -> {
                if (terminated.get()) {
                    throw new IllegalStateException("terminated");
                }
            };
            try (Stream<Object[]> stream = harness.stream(Harness.ECHO, 1L)) {
                terminated.set(true);
                assertThrows(IllegalStateException.class, stream::count);
            }
            Harness.await(() -> sidecar.controlRequests.size() == 1);
            assertEquals(List.of("call"), sidecar.methods);
        }
    }

    @Test
    void cypherOfACallbackIsTerminatedAtTheDeadline() throws Exception {
        CountDownLatch terminated = new CountDownLatch(1);
        FakeSidecar.Script script = FakeSidecar.echoOr((peer, method, json) -> peer.run(json, "LONG", "{}"));
        try (FakeSidecar sidecar = new FakeSidecar(script).announce(runDir)) {
            Harness harness = new Harness(runDir);
            harness.tx = Harness.transaction((cypher, parameters) -> {
                try {
                    terminated.await();
                } catch (InterruptedException unexpected) {
                    throw new IllegalStateException(unexpected);
                }
                throw new IllegalStateException("terminated");
            }, terminated::countDown);
            harness.echo(1L);
            PythonProcedure slow = Harness.procedure("test.slow").timeoutMillis(1000).build();
            assertTrue(harness.error(slow).startsWith("[SC-213]"));
        }
    }

    @Test
    void aFailedQueryIsToldEvenWhenItTerminatedTheTransaction() throws Exception {
        AtomicBoolean failed = new AtomicBoolean();
        CountDownLatch end = new CountDownLatch(1);
        FakeSidecar.Script script = (peer, method, json) -> {
            peer.run(json, "BROKEN", "{}");
            waiting(end).answer(peer, method, json);
        };
        try (FakeSidecar sidecar = new FakeSidecar(script).announce(runDir)) {
            Harness harness = new Harness(runDir);
            harness.tx = Harness.transaction((cypher, parameters) -> {
                failed.set(true);
                throw new IllegalStateException("the query is broken");
            }, () -> {});
            harness.guard = () -> {
                if (failed.get()) {
                    throw new IllegalStateException("terminated");
                }
            };
            assertEquals("the query is broken", harness.error(Harness.ECHO, 1L));
            end.countDown();
        }
    }

    @Test
    void timeBetweenPagesIsNotTheProceduresTime() throws Exception {
        FakeSidecar.Script script = (peer, method, json) ->
                peer.rows(json, "[[1]]", method.equals("call"));
        try (FakeSidecar sidecar = new FakeSidecar(script).announce(runDir)) {
            Harness harness = new Harness(runDir);
            harness.echo(1L);
            PythonProcedure quick = Harness.procedure("test.quick").timeoutMillis(1500).column("x", "ANY").build();
            try (Stream<Object[]> stream = harness.stream(quick)) {
                Harness.pause(1600);
                assertEquals(2, stream.count());
            }
        }
    }

    @Test
    void aRestartedSidecarIsFoundWithoutAFailedCall() throws Exception {
        Harness harness = new Harness(runDir);
        AtomicInteger calls = new AtomicInteger();
        for (int restart = 0; restart < 3; restart++) {
            try (FakeSidecar sidecar = new FakeSidecar(ONE).announce(runDir)) {
                Harness.await(() -> {
                    try {
                        return harness.echo(1L).equals(1L);
                    } catch (SidecypherException notYet) {
                        // Only until the old control connection is known to be over; nothing has started by then.
                        return false;
                    }
                });
                for (int i = 0; i < 5; i++) {
                    assertEquals(1L, harness.echo(1L));
                    calls.incrementAndGet();
                }
                assertEquals(1, sidecar.callConnections.get());
            }
            int gone = restart + 1;
            Harness.await(() -> harness.logged.size() == gone);
        }
        assertEquals(15, calls.get());
    }

    @Test
    void aStreamWhoseSidecarWentAwayIsOutcomeUnknown() throws Exception {
        FakeSidecar sidecar = new FakeSidecar((peer, method, json) -> peer.rows(json, "[[1]]", true)).announce(runDir);
        try (Stream<Object[]> stream = new Harness(runDir).stream(Harness.ECHO, 1L)) {
            sidecar.close();
            SidecypherException failure = assertThrows(SidecypherException.class, stream::count);
            assertTrue(failure.text().startsWith("[SC-212]"), failure.text());
        }
    }

    private static FakeSidecar.Script waiting(CountDownLatch end) {
        return (peer, method, json) -> {
            try {
                end.await();
            } catch (InterruptedException over) {
                Thread.currentThread().interrupt();
            }
        };
    }
}
