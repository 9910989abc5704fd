package io.sidecypher.core;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.neo4j.graphdb.Node;
import org.neo4j.kernel.api.exceptions.Status;

/** A call, its pages and its callbacks, as the wire contract describes them. */
class CallTests {
    @TempDir Path runDir;

    private static final FakeSidecar.Script ECHO = (peer, method, json) -> {
        String args = json.substring(json.indexOf("\"args\":") + 7, json.indexOf(",\"mode\""));
        peer.rows(json, "[" + args + "]", false);
    };

    @Test
    void whatMayBeTriedAgainIsTransientForDrivers() throws Exception {
        FakeSidecar.Script script = (peer, method, json) -> peer.reply("{\"id\":\"" + FakeSidecar.id(json)
                + "\",\"error\":{\"code\":\"kg.later\",\"message\":\"not now\",\"retryable\":true}}");
        try (FakeSidecar sidecar = new FakeSidecar(script).announce(runDir)) {
            SidecypherException failure = new Harness(runDir).failure(Harness.ECHO, 1L);
            assertEquals("[kg.later] not now", failure.text());
            assertEquals(Status.Statement.RemoteExecutionTransientError, failure.status());
        }
    }

    @Test
    void aCallAnswersWithItsRows() throws Exception {
        try (FakeSidecar sidecar = new FakeSidecar(ECHO).announce(runDir)) {
            Harness harness = new Harness(runDir);
            for (Object value : List.of("text \\ \" \n \uD83D\uDE00", 7L, Map.of("$date", 1L), List.of(1.0))) {
                assertEquals(value, harness.echo(value));
            }
            assertEquals(1, sidecar.callConnections.get());
        }
    }

    @Test
    void aMebibyteCrossesWhole() throws Exception {
        try (FakeSidecar sidecar = new FakeSidecar(ECHO).announce(runDir)) {
            String quotes = "\"\\".repeat(512 * 1024);
            assertEquals(quotes, new Harness(runDir).echo(quotes));
        }
    }

    @Test
    void theRequestSaysWhoCallsWhatAndForHowLong() throws Exception {
        AtomicReference<String> seen = new AtomicReference<>();
        FakeSidecar.Script script = (peer, method, json) -> {
            seen.set(json);
            peer.rows(json, "[]", false);
        };
        try (FakeSidecar sidecar = new FakeSidecar(script).announce(runDir)) {
            assertEquals(List.of(), new Harness(runDir).rows(Harness.ECHO, "a"));
            assertTrue(seen.get().matches("\\{\"v\":2,\"id\":\"[0-9a-f-]+-\\d+\",\"name\":\"test.echo\","
                    + "\"kind\":\"procedure\",\"signature\":\"00\",\"args\":\\[\"a\"],\"mode\":\"READ\","
                    + "\"database\":\"neo4j\",\"user\":\"tester\",\"traceparent\":\"\",\"remaining_ms\":\\d+}"), seen.get());
        }
    }

    @Test
    void aFunctionIsCalledAsOneAndGivesItsOneValue() throws Exception {
        PythonProcedure function = Harness.procedure("test.half")
                .parameter("x", "ANY", true)
                .column("value", "FLOAT")
                .function()
                .build();
        AtomicReference<String> seen = new AtomicReference<>();
        AtomicReference<String> rows = new AtomicReference<>("[[2.5]]");
        FakeSidecar.Script script = (peer, method, json) -> {
            seen.set(json);
            peer.rows(json, rows.get(), false);
        };
        try (FakeSidecar sidecar = new FakeSidecar(script).announce(runDir)) {
            Harness harness = new Harness(runDir);
            assertEquals(2.5, PythonNamespace.onlyValue(function, harness.stream(function, 5L)));
            assertTrue(seen.get().contains("\"kind\":\"function\""), seen.get());
            for (String wrong : List.of("[]", "[[1.0],[2.0]]")) {
                rows.set(wrong);
                SidecypherException failure = assertThrows(SidecypherException.class,
                        () -> PythonNamespace.onlyValue(function, harness.stream(function, 5L)));
                assertTrue(failure.text().startsWith("[SC-214] Python function `test.half` "), failure.text());
            }
        }
    }

    @Test
    void pagesAreFetchedAsTheyAreRead() throws Exception {
        FakeSidecar.Script script = (peer, method, json) ->
                peer.rows(json, method.equals("call") ? "[[1],[2]]" : "[[3]]", method.equals("call"));
        try (FakeSidecar sidecar = new FakeSidecar(script).announce(runDir)) {
            assertEquals(List.of(List.of(1L), List.of(2L), List.of(3L)), new Harness(runDir).rows(Harness.ECHO, 1L));
            assertEquals(List.of("call", "page"), sidecar.methods);
        }
    }

    @Test
    void anAbandonedStreamIsClosedAndADrainedOneIsNot() throws Exception {
        FakeSidecar.Script script = (peer, method, json) -> {
            if (method.equals("close")) {
                peer.reply("{\"id\":\"" + FakeSidecar.id(json) + "\"}");
            } else {
                peer.rows(json, "[[1],[2]]", true);
            }
        };
        try (FakeSidecar sidecar = new FakeSidecar(script).announce(runDir)) {
            try (Stream<Object[]> stream = new Harness(runDir).stream(Harness.ECHO, 1L)) {
                assertEquals(1L, stream.limit(1).findFirst().orElseThrow()[0]);
            }
            assertEquals(List.of("call", "close"), sidecar.methods);
        }
    }

    @Test
    void anErrorKeepsItsCodeMessageAndHint() throws Exception {
        FakeSidecar.Script script = (peer, method, json) -> peer.reply("{\"id\":\"" + FakeSidecar.id(json)
                + "\",\"error\":{\"code\":\"SC-204\",\"message\":\"it broke at 100 %s\",\"hint\":\"mend it\","
                + "\"retryable\":false,\"details\":{}}}");
        try (FakeSidecar sidecar = new FakeSidecar(script).announce(runDir)) {
            SidecypherException failure = new Harness(runDir).failure(Harness.ECHO, 1L);
            assertEquals("[SC-204] it broke at 100 %s. mend it", failure.text());
            assertEquals(Status.Procedure.ProcedureCallFailed, failure.status());
            assertEquals(failure.text(), String.format(failure.getMessage(), failure));
        }
    }

    @Test
    void argumentsAreCheckedBeforeAnythingIsConnected() {
        Harness harness = new Harness(runDir);
        PythonProcedure strict = Harness.procedure("test.strict")
                .parameter("count", "INTEGER", false)
                .parameter("names", "LIST<STRING>", true)
                .build();
        assertEquals("[SC-215] Python procedure `test.strict` was not started: parameter `count` must not be null.",
                harness.error(strict, null, null));
        assertTrue(harness.error(strict, "1", null).contains("`count` must be of type INTEGER, not STRING"));
        assertTrue(harness.error(strict, 1L, List.of(1L)).contains("`names` must be of type LIST<STRING>, not LIST"));
        assertTrue(harness.error(Harness.ECHO, new StringBuilder()).contains("`x` holds a value of type StringB"));
        assertTrue(harness.error(Harness.ECHO, "\uD83D").contains("`x` holds text with a lone surrogate"));
        assertTrue(harness.error(Harness.ECHO, "x".repeat(17 << 20)).startsWith("[SC-216]"));
        assertTrue(harness.error(Harness.ECHO, "\u20ac".repeat(6 << 20)).startsWith("[SC-216]"));
    }

    @Test
    void aWholeNumberIsGoodForAFloat() throws Exception {
        PythonProcedure half = Harness.procedure("test.half")
                .parameter("x", "FLOAT", true)
                .parameter("xs", "LIST<LIST<FLOAT>>", true)
                .column("x", "FLOAT")
                .column("xs", "LIST<LIST<FLOAT>>")
                .build();
        try (FakeSidecar sidecar = new FakeSidecar(ECHO).announce(runDir)) {
            List<Object> lists = List.of(Arrays.asList(1L, null, 2.5), List.of());
            assertEquals(List.of(List.of(2.0, List.of(Arrays.asList(1.0, null, 2.5), List.of()))),
                    new Harness(runDir).rows(half, 2L, lists));
            assertTrue(new Harness(runDir).error(half, 2L, List.of(2L)).contains("`xs` must be of type"));
        }
    }

    @Test
    void aRowOfTheWrongShapeNamesItsColumn() throws Exception {
        PythonProcedure typed = Harness.procedure("test.typed")
                .parameter("rows", "ANY", true)
                .column("n", "INTEGER")
                .column("names", "LIST<STRING>")
                .build();
        FakeSidecar.Script script = (peer, method, json) -> {
            String rows = json.substring(json.indexOf("\"args\":[\"") + 9, json.indexOf("\"],\"mode\""));
            peer.rows(json, rows.replace("\\\"", "\""), true);
        };
        try (FakeSidecar sidecar = new FakeSidecar(script).announce(runDir)) {
            Harness harness = new Harness(runDir);
            assertTrue(harness.error(typed, "[[\"a\",[]]]").contains("column `n` must be of type INTEGER, not STRING"));
            assertTrue(harness.error(typed, "[[1.0,[]]]").contains("column `n` must be of type INTEGER, not FLOAT"));
            assertTrue(harness.error(typed, "[[1,[1]]]").contains("column `names`"));
            assertTrue(harness.error(typed, "[[9223372036854775808,[]]]").contains("`n` holds an INTEGER outside"));
            assertTrue(harness.error(typed, "[[1]]").contains("2 declared columns"));
            assertTrue(harness.error(typed, "[[1,[],1]]").contains("2 declared columns"));
            Harness.await(() -> sidecar.controlRequests.size() == 6);
        }
    }

    @Test
    void aCallbackRunsInTheCallersTransactionOnItsThread() throws Exception {
        AtomicReference<String> answer = new AtomicReference<>();
        AtomicReference<Thread> thread = new AtomicReference<>();
        FakeSidecar.Script script = (peer, method, json) -> {
            answer.set(peer.run(json, "RETURN $n AS n", "{\"n\":41,\"d\":{\"$date\":\"2024-01-01\"}}"));
            peer.rows(json, "[[true]]", false);
        };
        try (FakeSidecar sidecar = new FakeSidecar(script).announce(runDir)) {
            Harness harness = new Harness(runDir);
            harness.tx = Harness.transaction((cypher, parameters) -> {
                thread.set(Thread.currentThread());
                assertEquals("RETURN $n AS n", cypher);
                return List.of(Map.of("n", (Long) parameters.get("n") + 1));
            }, () -> {});
            assertEquals(true, harness.echo(1L));
            assertEquals("{\"columns\":[\"n\"],\"rows\":[[42]],\"more\":false}", answer.get());
            assertEquals(Thread.currentThread(), thread.get());
        }
    }

    @Test
    void aFailedCallbackFailsTheCallWhateverPythonAnswers() throws Exception {
        AtomicReference<String> second = new AtomicReference<>();
        FakeSidecar.Script script = (peer, method, json) -> {
            peer.run(json, "BROKEN", "{}");
            second.set(peer.run(json, "RETURN 1", "{}"));
            peer.rows(json, "[[1]]", false);
        };
        try (FakeSidecar sidecar = new FakeSidecar(script).announce(runDir)) {
            Harness harness = new Harness(runDir);
            harness.tx = Harness.transaction((cypher, parameters) -> {
                assertEquals("BROKEN", cypher);
                throw new RuntimeException("outer", new StatusException("100% broken"));
            }, () -> {});
            SidecypherException failure = harness.failure(Harness.ECHO, 1L);
            assertEquals(Status.Statement.SyntaxError, failure.status());
            assertTrue(second.get().contains("Neo.ClientError.Statement.SyntaxError"), second.get());
            assertEquals(null, failure.getCause());
        }
    }

    @Test
    void aResultPythonCannotBeGivenNamesItsColumn() throws Exception {
        FakeSidecar.Script script = (peer, method, json) -> {
            peer.run(json, "RETURN", "{}");
            peer.rows(json, "[]", false);
        };
        try (FakeSidecar sidecar = new FakeSidecar(script).announce(runDir)) {
            Harness harness = new Harness(runDir);
            harness.tx = Harness.transaction((cypher, parameters) -> List.of(Map.of("t", Optional.empty())), () -> {});
            assertTrue(harness.error(Harness.ECHO, 1L).contains("result column `t` holds a value of type Optional"));
        }
    }

    @Test
    void aParameterPythonCannotSendNamesItself() throws Exception {
        FakeSidecar.Script script = (peer, method, json) -> {
            peer.run(json, "RETURN", "{\"a\":1,\"b\":[{\"$date\":\"tomorrow\"}]}");
            peer.rows(json, "[]", false);
        };
        try (FakeSidecar sidecar = new FakeSidecar(script).announce(runDir)) {
            String error = new Harness(runDir).error(Harness.ECHO, 1L);
            assertTrue(error.contains("ran a query whose parameter `b` holds a malformed date."), error);
        }
    }

    @Test
    void anEntityThatIsNotThereNamesItsParameterOrColumn() throws Exception {
        FakeGraph graph = new FakeGraph();
        Node node = graph.node("4:a:1", Map.of());
        graph.delete(node);
        try (FakeSidecar sidecar = new FakeSidecar((peer, method, json) ->
                peer.rows(json, "[[[{\"$node\":[\"4:a:1\",[],{}]}]]]", true)).announce(runDir)) {
            Harness harness = new Harness(runDir);
            harness.tx = graph.transaction();
            assertEquals("[SC-218] Python procedure `test.echo` was not started: parameter `x` holds a NODE that"
                    + " this transaction has deleted.", harness.error(Harness.ECHO, node));
            String error = harness.error(Harness.ECHO, 1L);
            assertTrue(error.startsWith("[SC-218] Python procedure `test.echo` returned a wrong row: column `x` holds"
                    + " a NODE that is deleted or not of this database"), error);
            Harness.await(() -> sidecar.controlRequests.size() == 1);
        }
    }

    @Test
    void anEmptyPageWithMoreToComeIsNotTheEnd() throws Exception {
        FakeSidecar.Script script = (peer, method, json) ->
                peer.rows(json, method.equals("call") ? "[]" : "[[null]]", method.equals("call"));
        try (FakeSidecar sidecar = new FakeSidecar(script).announce(runDir)) {
            assertEquals(List.of(Arrays.asList((Object) null)), new Harness(runDir).rows(Harness.ECHO, 1L));
            assertFalse(sidecar.methods.contains("close"));
        }
    }

    private static final class StatusException extends RuntimeException implements Status.HasStatus {
        private static final long serialVersionUID = 1L;

        StatusException(String message) {
            super(message);
        }

        @Override
        public Status status() {
            return Status.Statement.SyntaxError;
        }
    }
}
