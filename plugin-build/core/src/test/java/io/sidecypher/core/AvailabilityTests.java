package io.sidecypher.core;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What a call gives without a sidecar, as its author or the operator wants it. */
@Timeout(60)
class AvailabilityTests {
    @TempDir Path runDir;

    private static final List<Object> NULLS = Arrays.asList(null, null);

    private static PythonProcedure.Builder pair(String name) {
        return Harness.procedure(name).parameter("x", "INTEGER", false).column("a", "INTEGER").column("b", "ANY");
    }

    @ParameterizedTest
    @ValueSource(strings = {"OPTIONAL", "OFF"})
    void aSingleRowProcedureGivesNullsAndAnyOtherNoRow(String availability) throws Exception {
        Harness harness = new Harness(runDir);
        PythonProcedure single = pair("test.single").singleRow().availability(availability).build();
        assertEquals(List.of(NULLS), harness.rows(single, 1L));
        assertEquals(List.of(), harness.rows(pair("test.many").availability(availability).build(), 1L));
    }

    @Test
    void aFunctionGivesNull() {
        PythonProcedure function =
                Harness.procedure("test.f").column("value", "INTEGER").function().availability("OPTIONAL").build();
        try (Stream<Object[]> rows = new Harness(runDir).stream(function)) {
            assertEquals(null, PythonNamespace.onlyValue(function, rows));
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"OPTIONAL", "OFF", "REQUIRED"})
    void badArgumentsAreErrorsInEveryMode(String availability) {
        PythonProcedure procedure = pair("test.single").singleRow().availability(availability).build();
        for (Object wrong : new Object[] {null, "one", 1.5}) {
            String error = new Harness(runDir).error(procedure, wrong);
            assertTrue(error.startsWith("[SC-215]") && error.contains("`x`"), error);
        }
    }

    @Test
    void whatIsOffIsNotCalled() throws Exception {
        try (FakeSidecar sidecar = new FakeSidecar((peer, method, json) -> peer.rows(json, "[[1]]", false))) {
            sidecar.announce(runDir);
            Harness harness = new Harness(runDir, "AVAILABILITY=test.echo=OFF");
            assertEquals(List.of(), harness.rows(Harness.ECHO, 1L));
            assertEquals(0, sidecar.tokensSeen.get());
        }
    }

    @Test
    void whatIsOptionalIsCalledWhenItCanBe() throws Exception {
        PythonProcedure procedure = Harness.procedure("test.o").column("x", "ANY").availability("OPTIONAL").build();
        Harness harness = new Harness(runDir);
        assertEquals(List.of(), harness.rows(procedure));
        try (FakeSidecar sidecar = new FakeSidecar((peer, method, json) -> peer.rows(json, "[[1]]", false))) {
            sidecar.announce(runDir);
            assertEquals(List.of(List.of(1L)), harness.rows(procedure));
        }
    }

    @Test
    void onlyWhatWasNotBegunMayBeMissing() throws Exception {
        PythonProcedure procedure = Harness.procedure("test.o").column("x", "ANY").availability("OPTIONAL").build();
        for (FakeSidecar.Script script : List.<FakeSidecar.Script>of(
                (peer, method, json) -> peer.socket.close(),
                (peer, method, json) -> peer.raw("!ysnonsense\n"),
                (peer, method, json) -> peer.reply("{\"id\":\"" + FakeSidecar.id(json)
                        + "\",\"error\":{\"code\":\"SC-201\",\"message\":\"no\"}}"))) {
            try (FakeSidecar sidecar = new FakeSidecar(script).announce(runDir)) {
                assertTrue(new Harness(runDir).error(procedure).matches("(?s)\\[SC-2(12|14|01)\\].*"));
            }
        }
    }

    @Test
    void aFullQueueGivesNoRowsEither() throws Exception {
        CountDownLatch occupied = new CountDownLatch(1);
        CountDownLatch end = new CountDownLatch(1);
        FakeSidecar.Script script = (peer, method, json) -> {
            occupied.countDown();
            Harness.await(end);
            peer.rows(json, "[[1]]", false);
        };
        PythonProcedure procedure = Harness.procedure("test.o").column("x", "ANY").availability("OPTIONAL").build();
        try (FakeSidecar sidecar = new FakeSidecar(script).announce(runDir)) {
            Harness harness = new Harness(runDir, "POOL_SIZE=1", "QUEUE_LIMIT=0");
            Thread holder = new Thread(() -> harness.rows(procedure));
            holder.start();
            Harness.await(occupied);
            assertEquals(List.of(), harness.rows(procedure));
            end.countDown();
            holder.join();
        }
    }

    @Test
    void theTimeoutBoundsHowLongItTakesToFindOut() throws Exception {
        try (FakeSidecar sidecar = new FakeSidecar((peer, method, json) -> {});
                java.net.ServerSocket silent =
                        new java.net.ServerSocket(0, 5, java.net.InetAddress.getLoopbackAddress())) {
            FakeSidecar.write(runDir, FakeSidecar.fingerprint(), FakeSidecar.TOKEN, sidecar.entry(silent.getLocalPort()));
            Harness harness = new Harness(runDir, "HANDSHAKE_TIMEOUT_MS=10000");
            PythonProcedure brief = Harness.procedure("test.o").timeoutMillis(200).availability("OPTIONAL").build();
            long millis = Harness.millis(() -> assertEquals(List.of(), harness.rows(brief)));
            assertTrue(millis < 5000, millis + " ms");
        }
    }

    @Test
    void theLogSaysItOnceASecond() {
        Harness harness = new Harness(runDir);
        PythonProcedure procedure = Harness.procedure("test.o").availability("OPTIONAL").build();
        long millis = Harness.millis(() -> {
            for (int i = 0; i < 100; i++) {
                harness.rows(procedure);
            }
        });
        assertTrue(harness.logged.size() <= 1 + millis / 1000, harness.logged.toString());
        assertTrue(harness.logged.get(0).contains("`test.o` is OPTIONAL and gave no rows"), harness.logged.get(0));
        assertTrue(harness.logged.get(0).contains("[SC-210]"), harness.logged.get(0));
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', value = {
        "                                      | REQUIRED",
        "test.echo=OFF                         | OFF",
        "*=OFF                                 | OFF",
        "test.*=off                            | OFF",
        "test.echo*=OPTIONAL                   | OPTIONAL",
        "test.other=OFF, tes=OFF, test=OFF     | REQUIRED",
        "test.*=OFF,*=OPTIONAL                 | OFF",
        "*=OPTIONAL,test.*=OFF,test.e*=REQUIRED| REQUIRED",
        "test.echo*=OFF , test.echo = OPTIONAL | OPTIONAL",
        "test.echo=OPTIONAL,test.echo*=OFF,    | OPTIONAL",
    })
    void theLongestPatternThatFitsCounts(String setting, PythonProcedure.Availability expected) {
        assertEquals(expected, AvailabilityRules.parse(setting == null ? "" : setting).of(Harness.ECHO));
    }
}
