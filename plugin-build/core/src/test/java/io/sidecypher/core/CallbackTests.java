package io.sidecypher.core;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.neo4j.graphdb.QueryExecutionType.QueryType;
import org.neo4j.graphdb.Transaction;

/** Results of {@code ctx.run} are read in pages, close with their call, and obey the procedure's mode. */
@Timeout(60)
class CallbackTests {
    @TempDir Path runDir;

    private final List<String> answers = Collections.synchronizedList(new ArrayList<>());
    private final List<String> executed = new ArrayList<>();
    private final AtomicInteger open = new AtomicInteger();
    private final AtomicInteger taken = new AtomicInteger();

    /** What the body of the Python procedure does, as it answers `call` and each `page`. */
    private interface Body {
        void act(FakeSidecar.Peer peer, String method, String json) throws IOException;
    }

    /** Each statement gives the numbers from 0 up to, and without, {@code rows}. */
    private Transaction counting(int rows) {
        return Harness.streaming((cypher, parameters) -> {
            executed.add(cypher);
            return rows(rows, "n", null);
        }, open, () -> {});
    }

    private Iterator<Map<String, Object>> rows(int rows, String column, Object value) {
        return LongStream.range(0, rows).mapToObj(n -> {
            taken.incrementAndGet();
            return Map.of(column, value == null ? (Object) n : value);
        }).iterator();
    }

    private Harness harness(int rows) {
        Harness harness = new Harness(runDir);
        harness.tx = counting(rows);
        return harness;
    }

    private FakeSidecar sidecar(Body body) throws Exception {
        return new FakeSidecar((peer, method, json) -> {
            if (method.equals("close")) {
                peer.reply("{\"id\":\"" + FakeSidecar.id(json) + "\"}");
            } else {
                body.act(peer, method, json);
            }
        }).announce(runDir);
    }

    private static String numbers(int from, int to, boolean more) {
        String rows = String.join(",", LongStream.range(from, to).mapToObj(n -> "[" + n + "]").toList());
        return "{\"columns\":[\"n\"],\"rows\":[" + rows + "],\"more\":" + more + "}";
    }

    @Test
    void aLongResultComesInPagesOfAThousandRows() throws Exception {
        try (FakeSidecar sidecar = sidecar((peer, method, json) -> {
            answers.add(peer.run(json, 7, "MATCH 1", "{}"));
            assertEquals(1001, taken.get());
            answers.add(peer.cursor(json, "next", 7));
            answers.add(peer.cursor(json, "next", 7));
            peer.rows(json, "[[1]]", false);
        })) {
            assertEquals(1L, harness(2500).echo(1L));
            assertEquals(
                    List.of(numbers(0, 1000, true), numbers(1000, 2000, true), numbers(2000, 2500, false)), answers);
            assertEquals(0, open.get());
        }
    }

    @Test
    void aResultThatEndsWithItsPageIsOver() throws Exception {
        try (FakeSidecar sidecar = sidecar((peer, method, json) -> {
            answers.add(peer.run(json, 1, "MATCH 2", "{}"));
            assertEquals(0, open.get());
            peer.rows(json, "[[1]]", false);
        })) {
            harness(1000).echo(1L);
            assertEquals(List.of(numbers(0, 1000, false)), answers);
        }
    }

    @Test
    void aPageEndsAtAMebibyte() throws Exception {
        try (FakeSidecar sidecar = sidecar((peer, method, json) -> {
            answers.add(peer.run(json, 1, "MATCH 3", "{}"));
            peer.rows(json, "[[1]]", false);
        })) {
            Harness harness = new Harness(runDir);
            harness.tx = Harness.streaming((cypher, parameters) -> rows(9, "t", "x".repeat(300_000)), open, () -> {});
            harness.echo(1L);
            int length = answers.get(0).length();
            assertTrue(length > 1 << 20 && length < (1 << 20) + 300_100, length + " characters");
            assertTrue(answers.get(0).endsWith(",\"more\":true}"));
        }
    }

    @Test
    void aRecordOverTheLimitOfALineIsRefused() throws Exception {
        try (FakeSidecar sidecar = sidecar((peer, method, json) -> {
            answers.add(peer.run(json, 1, "MATCH 4", "{}"));
            peer.rows(json, "[[1]]", false);
        })) {
            Harness harness = new Harness(runDir, "MAX_LINE_BYTES=10000");
            harness.tx = Harness.streaming((cypher, parameters) -> rows(9, "t", "x".repeat(10_000)), open, () -> {});
            String error = harness.error(Harness.ECHO, 1L);
            assertTrue(error.startsWith("[SC-216]") && error.contains("a query's record"), error);
            assertEquals(0, open.get());
        }
    }

    @Test
    void aRecordThatIsNestedTooDeepIsRefusedByItsColumn() throws Exception {
        Object deep = List.of();
        for (int i = 0; i < 300; i++) {
            deep = List.of(deep);
        }
        Object value = deep;
        try (FakeSidecar sidecar = sidecar((peer, method, json) -> {
            answers.add(peer.run(json, 1, "MATCH 14", "{}"));
            peer.rows(json, "[[1]]", false);
        })) {
            Harness harness = new Harness(runDir);
            harness.tx = Harness.streaming((cypher, parameters) -> rows(1, "deep", value), open, () -> {});
            String error = harness.error(Harness.ECHO, 1L);
            assertTrue(error.startsWith("[SC-215] Python procedure `test.echo` ran a query whose result column `deep`"
                    + " is nested deeper than 200 levels"), error);
        }
    }

    @Test
    void severalResultsMayBeOpenAndOneDiscarded() throws Exception {
        try (FakeSidecar sidecar = sidecar((peer, method, json) -> {
            peer.run(json, 1, "MATCH 5", "{}");
            peer.run(json, 2, "MATCH 5", "{}");
            assertEquals(2, open.get());
            answers.add(peer.cursor(json, "discard", 1));
            answers.add(peer.cursor(json, "discard", 1));
            assertEquals(1, open.get());
            answers.add(peer.cursor(json, "next", 2));
            peer.rows(json, "[[1]]", false);
        })) {
            harness(1500).echo(1L);
            assertEquals(List.of("{}", "{}", numbers(1000, 1500, false)), answers);
        }
    }

    @Test
    void aResultStaysOpenFromPageToPageOfTheCall() throws Exception {
        try (FakeSidecar sidecar = sidecar((peer, method, json) -> {
            if (method.equals("call")) {
                peer.run(json, 1, "MATCH 6", "{}");
                peer.rows(json, "[[1]]", true);
            } else {
                answers.add(peer.cursor(json, "next", 1));
                peer.rows(json, "[[2]]", false);
            }
        })) {
            assertEquals(List.of(List.of(1L), List.of(2L)), harness(1001).rows(Harness.ECHO, 1L));
            assertEquals(List.of(numbers(1000, 1001, false)), answers);
            assertEquals(0, open.get());
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"end", "error", "protocol", "lost"})
    void openResultsCloseHoweverTheCallEnds(String ending) throws Exception {
        try (FakeSidecar sidecar = sidecar((peer, method, json) -> {
            peer.run(json, 1, "MATCH 7", "{}");
            switch (ending) {
                case "end" -> peer.rows(json, "[[1]]", false);
                case "error" -> peer.reply("{\"id\":\"" + FakeSidecar.id(json)
                        + "\",\"error\":{\"code\":\"SC-202\",\"message\":\"it broke\"}}");
                case "protocol" -> peer.reply("{}");
                default -> peer.socket.close();
            }
        })) {
            try {
                harness(5000).echo(1L);
                assertEquals("end", ending);
            } catch (SidecypherException failed) {
                assertFalse(ending.equals("end"), failed.text());
            }
            assertEquals(0, open.get());
        }
    }

    @Test
    void openResultsCloseWithAnAbandonedStream() throws Exception {
        try (FakeSidecar sidecar = sidecar((peer, method, json) -> {
            peer.run(json, 1, "MATCH 8", "{}");
            peer.rows(json, "[[1],[2]]", true);
        })) {
            try (Stream<Object[]> stream = harness(5000).stream(Harness.ECHO, 1L)) {
                stream.limit(1).count();
                assertEquals(1, open.get());
            }
            assertEquals(0, open.get());
        }
    }

    @Test
    void openResultsCloseWhenTheTransactionEndsBetweenPages() throws Exception {
        AtomicBoolean terminated = new AtomicBoolean();
        try (FakeSidecar sidecar = sidecar((peer, method, json) -> {
            peer.run(json, 1, "MATCH 9", "{}");
            peer.rows(json, "[[1]]", true);
        })) {
            Harness harness = harness(5000);
            harness.guard = () -> {
                if (terminated.get()) {
                    throw new IllegalStateException("terminated");
                }
            };
            try (Stream<Object[]> stream = harness.stream(Harness.ECHO, 1L)) {
                terminated.set(true);
                assertThrows(IllegalStateException.class, stream::count);
                assertEquals(0, open.get());
            }
        }
    }

    @Test
    void openResultsCloseAtTheDeadline() throws Exception {
        CountDownLatch end = new CountDownLatch(1);
        try (FakeSidecar sidecar = sidecar(FakeSidecar.echoOr((peer, method, json) -> {
            peer.run(json, 1, "MATCH 10", "{}");
            try {
                end.await();
            } catch (InterruptedException over) {
                Thread.currentThread().interrupt();
            }
        })::answer)) {
            Harness harness = harness(5000);
            harness.echo(1L);
            PythonProcedure brief = Harness.procedure("test.brief").timeoutMillis(1000).build();
            assertTrue(harness.error(brief).startsWith("[SC-213]"));
            assertEquals(0, open.get());
            end.countDown();
        }
    }

    @Test
    void whatAStatementWritesDoesNotDependOnHowFarItIsRead() throws Exception {
        try (FakeSidecar sidecar = sidecar((peer, method, json) -> {
            answers.add(peer.run(json, 1, "WRITE 1", "{}"));
            assertEquals(2500, taken.get());
            answers.add(peer.cursor(json, "next", 1));
            answers.add(peer.cursor(json, "next", 1));
            peer.rows(json, "[[1]]", false);
        })) {
            PythonProcedure writer = Harness.procedure("test.write").mode("WRITE").column("x", "ANY").build();
            harness(2500).rows(writer);
            assertEquals(
                    List.of(numbers(0, 1000, true), numbers(1000, 2000, true), numbers(2000, 2500, false)), answers);
        }
    }

    @ParameterizedTest
    @CsvSource({
        "READ, MATCH, true", "READ, WRITE, false", "READ, SCHEMA, false", "READ, DBMS, false",
        "WRITE, MATCH, true", "WRITE, WRITE, true", "WRITE, SCHEMA, false", "WRITE, DBMS, false",
        "SCHEMA, MATCH, true", "SCHEMA, WRITE, true", "SCHEMA, SCHEMA, true", "SCHEMA, DBMS, false"
    })
    void aStatementAboveTheModeIsRefusedBeforeItRuns(String mode, String kind, boolean allowed) throws Exception {
        try (FakeSidecar sidecar = sidecar((peer, method, json) -> {
            peer.run(json, 1, kind + " of a mode", "{}");
            answers.add(peer.run(json, 2, "MATCH", "{}"));
            peer.rows(json, "[[1]]", false);
        })) {
            PythonProcedure procedure = Harness.procedure("test.mode").mode(mode).column("x", "ANY").build();
            Harness harness = harness(1);
            if (allowed) {
                harness.rows(procedure);
                assertEquals(List.of(kind + " of a mode", "MATCH"), executed);
            } else {
                String error = harness.error(procedure);
                assertTrue(error.startsWith("[SC-219] Python procedure `test.mode` ran a statement that "), error);
                assertTrue(answers.get(0).contains("[SC-219]"), answers.get(0));
                assertEquals(List.of(), executed);
            }
        }
    }

    @Test
    void aStatementIsExplainedOnce() {
        AtomicInteger explained = new AtomicInteger();
        Transaction tx = Harness.proxy(Transaction.class, (name, arguments) -> {
            explained.incrementAndGet();
            return counting(0).execute((String) arguments[0], Map.of());
        });
        String longText = "MATCH " + "x".repeat(10_000);
        for (int i = 0; i < 3; i++) {
            assertEquals(QueryType.READ_WRITE, StatementTypes.of(tx, "WRITE once", Map.of()).type());
            assertEquals(QueryType.READ_ONLY, StatementTypes.of(tx, longText, Map.of()).type());
        }
        assertEquals(1 + 3, explained.get());
        for (int i = 0; i < 5000; i++) {
            StatementTypes.of(tx, "MATCH number " + i, Map.of());
        }
        StatementTypes.of(tx, "WRITE once", Map.of());
        assertEquals(1 + 3 + 5000 + 1, explained.get());
    }

    @Test
    void aProfiledStatementIsExplainedWithoutItsProfile() {
        Map<String, String> explained = Map.of(
                "PROFILE RETURN 1", "        RETURN 1",
                " /* PROFILE\n*/ // PROFILE\n profile\tRETURN 1", " /* PROFILE\n*/ // PROFILE\n        \tRETURN 1",
                "CYPHER 5 runtime = slotted PROFILE RETURN 1", "CYPHER 5 runtime = slotted         RETURN 1",
                "EXPLAIN RETURN 1", "EXPLAIN RETURN 1",
                "PROFILED RETURN 1", "PROFILED RETURN 1",
                "RETURN 1 // PROFILE", "RETURN 1 // PROFILE",
                "/* PROFILE", "/* PROFILE");
        explained.forEach((cypher, expected) -> {
            List<String> seen = new ArrayList<>();
            Transaction tx = Harness.proxy(Transaction.class, (name, arguments) -> {
                seen.add((String) arguments[0]);
                return counting(0).execute((String) arguments[0], Map.of());
            });
            StatementTypes.of(tx, cypher, Map.of());
            assertEquals(List.of("EXPLAIN\n" + expected), seen);
        });
    }

    @Test
    void aMessageNamesThePlaceInTheStatementItself() {
        Transaction tx = Harness.proxy(Transaction.class, (name, arguments) -> {
            throw new IllegalStateException("Variable `x` not defined (line 2, column 8 (offset: 15))");
        });
        SidecypherException failure = assertThrows(SidecypherException.class,
                () -> StatementTypes.of(tx, "RETURN x", Map.of()));
        assertEquals("Variable `x` not defined (line 1, column 8 (offset: 7))", failure.text());
    }

    @Test
    void aResultThatFailsLaterDoomsTheCall() throws Exception {
        try (FakeSidecar sidecar = sidecar((peer, method, json) -> {
            peer.run(json, 1, "MATCH 11", "{}");
            answers.add(peer.cursor(json, "next", 1));
            answers.add(peer.cursor(json, "next", 1));
            answers.add(peer.cursor(json, "discard", 1));
            peer.rows(json, "[[1]]", false);
        })) {
            Harness harness = new Harness(runDir);
            harness.tx = Harness.streaming((cypher, parameters) -> LongStream.range(0, 1500).mapToObj(n -> {
                if (n == 1200) {
                    throw new IllegalStateException("/ by zero");
                }
                return Map.<String, Object>of("n", n);
            }).iterator(), open, () -> {});
            assertEquals("/ by zero", harness.error(Harness.ECHO, 1L));
            answers.forEach(answer -> assertTrue(answer.contains("/ by zero"), answer));
            assertEquals(0, open.get());
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {
        "next {\"id\":\"ID\",\"cursor\":9}", "next {\"id\":\"ID\"}", "discard {\"id\":\"ID\"}",
        "discard {\"id\":\"ID\",\"cursor\":\"1\"}", "next {\"id\":\"ID\",\"cursor\":1.5}",
        "next {\"id\":\"other\",\"cursor\":1}", "run {\"id\":\"ID\",\"cursor\":1,\"cypher\":\"x\",\"params\":{}}",
        "run {\"id\":\"ID\",\"cursor\":2,\"params\":{}}", "run {\"id\":\"ID\",\"cypher\":\"x\",\"params\":{}}",
        "run {\"id\":\"ID\",\"cursor\":99999999999999999999,\"cypher\":\"x\",\"params\":{}}",
        "run []", "run {", "close {\"id\":\"ID\",\"cursor\":1}"
    })
    void aCallbackThatBreaksTheProtocolClosesTheConnection(String callback) throws Exception {
        try (FakeSidecar sidecar = sidecar((peer, method, json) -> {
            peer.run(json, 1, "MATCH 12", "{}");
            String[] parts = callback.replace("ID", FakeSidecar.id(json)).split(" ", 2);
            peer.callback(parts[0], parts[1]);
            peer.line();
        })) {
            String error = harness(5000).error(Harness.ECHO, 1L);
            assertTrue(error.startsWith("[SC-214]"), error);
            assertEquals(0, open.get());
            assertEquals(1, executed.size());
        }
    }

    @Test
    void parametersNestedTooDeepAreRefusedByThatName() throws Exception {
        String deep = "[".repeat(300) + "]".repeat(300);
        try (FakeSidecar sidecar = sidecar((peer, method, json) -> {
            answers.add(peer.run(json, 1, "MATCH 13", "{\"p\":" + deep + "}"));
            peer.rows(json, "[[1]]", false);
        })) {
            String error = harness(1).error(Harness.ECHO, 1L);
            assertTrue(error.startsWith("[SC-215]") && error.contains("nested deeper than 200 levels"), error);
        }
    }
}
