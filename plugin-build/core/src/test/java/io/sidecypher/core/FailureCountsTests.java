package io.sidecypher.core;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Sidecars are told of the calls that ended in this JVM, since they cannot count them. */
@Timeout(60)
class FailureCountsTests {
    private static final FakeSidecar.Script ONE = (peer, method, json) -> peer.rows(json, "[[1]]", false);
    private static final FakeSidecar.Script LOST = (peer, method, json) -> peer.socket.close();
    private static final FakeSidecar.Script NONSENSE = (peer, method, json) -> peer.raw("!ysnonsense\n");

    @TempDir Path runDir;

    private static PythonProcedure available(String name, String availability) {
        return Harness.procedure(name).column("x", "ANY").availability(availability).build();
    }

    private static List<String> reports(FakeSidecar sidecar) {
        return sidecar.controlRequests.stream().filter(json -> json.contains("\"failures\"")).toList();
    }

    /** What the latest report says: procedure, code, result and count of each kind. */
    private static Set<String> told(FakeSidecar sidecar) {
        List<String> reports = reports(sidecar);
        String latest = reports.isEmpty() ? "" : reports.get(reports.size() - 1);
        return Pattern.compile("\\{\"procedure\":\"(.*?)\",\"code\":\"(.*?)\",\"result\":\"(.*?)\",\"count\":(\\d+)}")
                .matcher(latest).results().map(FailureCountsTests::line).collect(Collectors.toCollection(TreeSet::new));
    }

    private static String line(MatchResult found) {
        return found.group(1) + " " + found.group(2) + " " + found.group(3) + " " + found.group(4);
    }

    private static FakeSidecar sidecar(FakeSidecar.Script script) throws Exception {
        FakeSidecar sidecar = new FakeSidecar(script);
        sidecar.takesFailures = true;
        return sidecar;
    }

    private static void awaitTold(FakeSidecar sidecar, String... lines) {
        Harness.await(() -> told(sidecar).equals(new TreeSet<>(Arrays.asList(lines))));
    }

    @Test
    void aSidecarThatComesIsToldOfAllCallsThatNoneBegan() throws Exception {
        Harness harness = new Harness(runDir);
        harness.error(Harness.ECHO, 1L);
        harness.error(Harness.ECHO, 1L);
        harness.rows(available("test.o", "OPTIONAL"));
        harness.rows(available("test.off", "OFF"));
        try (FakeSidecar sidecar = sidecar(ONE).announce(runDir)) {
            harness.echo(1L);
            awaitTold(sidecar, "test.echo SC-210 error 2", "test.o SC-210 nothing 1", "test.off OFF nothing 1");
        }
    }

    @Test
    void aSidecarIsToldOfArgumentsThatWereRefused() throws Exception {
        try (FakeSidecar sidecar = sidecar(ONE).announce(runDir)) {
            Harness harness = new Harness(runDir, "MAX_LINE_BYTES=1024");
            PythonProcedure one = Harness.procedure("test.one").parameter("x", "INTEGER", false).build();
            harness.error(one, "a text");
            harness.error(Harness.ECHO, "x".repeat(2000));
            harness.echo(1L);
            awaitTold(sidecar, "test.one SC-215 error 1", "test.echo SC-216 error 1");
        }
    }

    @Test
    void aSidecarIsToldOfWhatHappensWhileItServes() throws Exception {
        for (FakeSidecar.Script script : List.of(LOST, NONSENSE)) {
            String code = script == LOST ? "SC-212" : "SC-214";
            try (FakeSidecar sidecar = sidecar(script).announce(runDir)) {
                Harness harness = new Harness(runDir);
                harness.error(Harness.ECHO, 1L);
                awaitTold(sidecar, "test.echo " + code + " error 1");
                harness.error(Harness.ECHO, 1L);
                awaitTold(sidecar, "test.echo " + code + " error 2");
            }
        }
    }

    @Test
    void itsSuccessorIsToldAllOfItAgain() throws Exception {
        Harness harness = new Harness(runDir);
        try (FakeSidecar sidecar = sidecar(LOST).announce(runDir)) {
            harness.error(Harness.ECHO, 1L);
            awaitTold(sidecar, "test.echo SC-212 error 1");
        }
        try (FakeSidecar successor = sidecar(ONE).announce(runDir)) {
            harness.echo(1L);
            awaitTold(successor, "test.echo SC-212 error 1");
        }
    }

    @Test
    void manyFailuresAreFewReports() throws Exception {
        try (FakeSidecar sidecar = sidecar(LOST).announce(runDir)) {
            Harness harness = new Harness(runDir);
            long millis = Harness.millis(() -> {
                for (int i = 0; i < 20; i++) {
                    harness.error(Harness.ECHO, 1L);
                }
                awaitTold(sidecar, "test.echo SC-212 error 20");
            });
            assertTrue(reports(sidecar).size() <= 2 + millis / 1000, reports(sidecar).toString());
        }
    }

    @Test
    void aReportTellsWhatFitsIntoALine() throws Exception {
        int limit = 1024;
        try (FakeSidecar sidecar = sidecar(ONE).announce(runDir)) {
            Harness harness = new Harness(runDir, "MAX_LINE_BYTES=" + limit);
            for (int i = 0; i < 100; i++) {
                harness.rows(available("test.gr\u00f6\u00dfe" + i, "OFF"));
            }
            harness.echo(1L);
            Harness.await(() -> !reports(sidecar).isEmpty());
            int bytes = ("s" + reports(sidecar).get(0)).getBytes(StandardCharsets.UTF_8).length;
            assertTrue(bytes <= limit && bytes > limit - 100, bytes + " bytes");
        }
    }

    @Test
    void aReportHasNoMoreKindsThanASidecarTakes() {
        FailureCounts counts = new FailureCounts();
        for (int i = 0; i < 10_001; i++) {
            counts.off(available("test.off" + i, "OFF"));
        }
        assertEquals(10_000, Requests.failures(new Counts(counts, new CacheCounts()), Integer.MAX_VALUE).split("\"procedure\"").length - 1);
    }

    @Test
    void aReportLeavesOutNamesThatASidecarRefuses() throws Exception {
        try (FakeSidecar sidecar = sidecar(ONE).announce(runDir)) {
            Harness harness = new Harness(runDir);
            String longest = "n".repeat(1000);
            harness.rows(available(longest + "n", "OFF"));
            harness.rows(available(longest, "OFF"));
            harness.echo(1L);
            awaitTold(sidecar, longest + " OFF nothing 1");
        }
    }

    @Test
    void aSidecarIsToldOfCallsThatAreNestedTooDeep() throws Exception {
        FakeSidecar.Script script = (peer, method, json) -> {
            peer.run(json, "CALL test.echo(1)", "{}");
            peer.rows(json, "[[1]]", false);
        };
        try (FakeSidecar sidecar = sidecar(script).announce(runDir)) {
            Harness harness = new Harness(runDir, "NESTED_DEPTH=1");
            harness.tx = Harness.transaction(
                    (cypher, parameters) -> List.of(Map.of("x", harness.echo(1L))), () -> {});
            harness.error(Harness.ECHO, 1L);
            awaitTold(sidecar, "test.echo SC-211 error 1");
            harness.awaitLog("[SC-211] Python procedure `test.echo` was not started");
        }
    }

    @Test
    void aSidecarThatDoesNotKnowReportsGetsNone() throws Exception {
        try (FakeSidecar older = new FakeSidecar(LOST);
                FakeSidecar newer = sidecar(LOST)) {
            FakeSidecar.announceAll(runDir, older, newer);
            Harness harness = new Harness(runDir);
            Harness.await(() -> {
                harness.error(Harness.ECHO, 1L);
                return !told(newer).isEmpty() && older.methods.contains("call");
            });
            assertEquals(Set.of(), told(older));
        }
    }
}
