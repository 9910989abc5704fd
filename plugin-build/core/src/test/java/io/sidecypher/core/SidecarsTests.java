package io.sidecypher.core;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Several sidecars behind one JVM: calls spread over those that serve, and avoid the others. */
@Timeout(60)
class SidecarsTests {
    @TempDir Path runDir;

    private static final FakeSidecar.Script ONE = (peer, method, json) -> peer.rows(json, "[[1]]", false);

    @Test
    void callsSpreadEvenly() throws Exception {
        try (FakeSidecar first = new FakeSidecar(ONE);
                FakeSidecar second = new FakeSidecar(ONE);
                FakeSidecar third = new FakeSidecar(ONE)) {
            FakeSidecar.announceAll(runDir, first, second, third);
            Harness harness = new Harness(runDir);
            Harness.await(() -> {
                harness.echo(1L);
                return !first.methods.isEmpty() && !second.methods.isEmpty() && !third.methods.isEmpty();
            });
            int before = first.methods.size();
            for (int i = 0; i < 30; i++) {
                harness.echo(1L);
            }
            assertEquals(before + 10, first.methods.size());
        }
    }

    @Test
    void pagesAndTheirEndGoToTheSidecarOfTheirCall() throws Exception {
        FakeSidecar.Script endless = (peer, method, json) -> peer.rows(json, "[[1]]", !method.equals("close"));
        try (FakeSidecar first = new FakeSidecar(endless);
                FakeSidecar second = new FakeSidecar(endless)) {
            FakeSidecar.announceAll(runDir, first, second);
            Harness harness = new Harness(runDir);
            for (int i = 0; i < 20; i++) {
                try (Stream<Object[]> rows = harness.stream(Harness.ECHO, 1L)) {
                    assertEquals(3, rows.limit(3).count());
                }
            }
            for (FakeSidecar each : List.of(first, second)) {
                assertEquals(count(each, "call") * 2, count(each, "page"));
                assertEquals(count(each, "call"), count(each, "close"));
            }
            assertEquals(20, count(first, "call") + count(second, "call"));
        }
    }

    @Test
    void aCancelGoesToTheSidecarOfItsCall() throws Exception {
        CountDownLatch end = new CountDownLatch(1);
        List<Set<String>> called = List.of(ConcurrentHashMap.newKeySet(), ConcurrentHashMap.newKeySet());
        try (FakeSidecar first = new FakeSidecar(hanging(called.get(0), end));
                FakeSidecar second = new FakeSidecar(hanging(called.get(1), end))) {
            FakeSidecar.announceAll(runDir, first, second);
            Harness harness = new Harness(runDir);
            useBoth(harness, first, second);
            PythonProcedure brief = Harness.procedure("test.brief").timeoutMillis(1500).build();
            for (int i = 0; i < 4; i++) {
                assertTrue(harness.error(brief).startsWith("[SC-213]"));
            }
            Harness.await(() -> cancelled(first).equals(called.get(0)) && cancelled(second).equals(called.get(1)));
            end.countDown();
        }
    }

    @Test
    void whoGoesIsMissedByNobody() throws Exception {
        FakeSidecar first = new FakeSidecar(ONE);
        try (FakeSidecar second = new FakeSidecar(ONE)) {
            FakeSidecar.announceAll(runDir, first, second);
            Harness harness = new Harness(runDir);
            useBoth(harness, first, second);
            first.close();
            harness.awaitLog("a sidecar is gone");
            for (int i = 0; i < 20; i++) {
                assertEquals(1L, harness.echo(1L));
            }
        }
    }

    @Test
    void whoComesIsUsedAndWhoLeavesIsNot() throws Exception {
        try (FakeSidecar first = new FakeSidecar(ONE);
                FakeSidecar second = new FakeSidecar(ONE)) {
            FakeSidecar.announceAll(runDir, first);
            Harness harness = new Harness(runDir);
            assertEquals(1L, harness.echo(1L));
            FakeSidecar.announceAll(runDir, first, second);
            Harness.await(() -> harness.echo(1L).equals(1L) && !second.methods.isEmpty());

            FakeSidecar.announceAll(runDir, second);
            AtomicInteger before = new AtomicInteger(-1);
            Harness.await(() -> {
                boolean unchanged = before.getAndSet(first.methods.size()) == first.methods.size();
                harness.echo(1L);
                harness.echo(1L);
                return unchanged && before.get() == first.methods.size();
            });
        }
    }

    @Test
    void aSidecarThatIsStoppingBeginsNothingAndAnotherOneDoes() throws Exception {
        AtomicBoolean stopping = new AtomicBoolean();
        FakeSidecar.Script script = (peer, method, json) -> {
            if (stopping.get()) {
                peer.reply("{\"id\":\"" + FakeSidecar.id(json) + "\",\"error\":{\"code\":\"SC-210\","
                        + "\"message\":\"The sidecar is stopping\"},\"refused\":\"stopping\"}");
            } else {
                peer.rows(json, "[[1]]", false);
            }
        };
        try (FakeSidecar first = new FakeSidecar(script);
                FakeSidecar second = new FakeSidecar(ONE)) {
            FakeSidecar.announceAll(runDir, first, second);
            // The echoes must not outlast the circuit: after it the first sidecar is rightly asked again.
            Harness harness = new Harness(runDir, "CIRCUIT_MS=600000");
            useBoth(harness, first, second);
            stopping.set(true);
            int before = first.methods.size();
            for (int i = 0; i < 20; i++) {
                assertEquals(1L, harness.echo(1L));
            }
            assertEquals(before + 1, first.methods.size());
            FakeSidecar.announceAll(runDir, first);
            Harness.await(() -> {
                try {
                    harness.echo(1L);
                    return false;
                } catch (SidecypherException refused) {
                    assertTrue(refused.text().startsWith("[SC-210]"), refused.text());
                    return refused.text().contains("The sidecar is stopping");
                }
            });
        }
    }

    @Test
    void aSidecarWithoutRoomBeginsNothingAndAnotherOneDoes() throws Exception {
        FakeSidecar.Script full = (peer, method, json) -> {
            if (json.contains("test.large")) {
                peer.reply("{\"id\":\"" + FakeSidecar.id(json) + "\",\"error\":{\"code\":\"SC-211\","
                        + "\"message\":\"It has no room\"},\"refused\":\"busy\"}");
            } else {
                peer.rows(json, "[[1]]", false);
            }
        };
        try (FakeSidecar first = new FakeSidecar(full);
                FakeSidecar second = new FakeSidecar(ONE)) {
            FakeSidecar.announceAll(runDir, first, second);
            Harness harness = new Harness(runDir, "CIRCUIT_MS=600000");
            useBoth(harness, first, second);
            PythonProcedure large = Harness.procedure("test.large").column("x", "ANY").build();
            int before = first.methods.size();
            for (int i = 0; i < 10; i++) {
                assertEquals(1L, harness.rows(large).get(0).get(0));
            }
            assertTrue(first.methods.size() > before + 1, "its circuit is closed, so it is asked again");

            FakeSidecar.announceAll(runDir, first);
            Harness alone = new Harness(runDir, "CIRCUIT_MS=600000");
            String error = alone.error(large);
            assertTrue(error.startsWith("[SC-211]") && error.contains("It has no room"), error);
            PythonProcedure optional = Harness.procedure("test.large")
                    .column("x", "ANY")
                    .availability("OPTIONAL")
                    .build();
            assertTrue(alone.rows(optional).isEmpty());
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"REQUIRED", "OPTIONAL"})
    void anErrorOfAFunctionIsOneWhateverItsCode(String availability) throws Exception {
        FakeSidecar.Script lying = (peer, method, json) -> {
            if (json.contains("test.lying")) {
                peer.reply("{\"id\":\"" + FakeSidecar.id(json) + "\",\"error\":{\"code\":\"SC-210\","
                        + "\"message\":\"The sidecar is stopping\",\"refused\":\"stopping\"}}");
            } else {
                peer.rows(json, "[[1]]", false);
            }
        };
        try (FakeSidecar first = new FakeSidecar(lying);
                FakeSidecar second = new FakeSidecar(lying)) {
            FakeSidecar.announceAll(runDir, first, second);
            Harness harness = new Harness(runDir, "CIRCUIT_MS=600000");
            useBoth(harness, first, second);
            PythonProcedure procedure =
                    Harness.procedure("test.lying").column("x", "ANY").availability(availability).build();
            int before = first.methods.size() + second.methods.size();
            assertTrue(harness.error(procedure).startsWith("[SC-210] The sidecar is stopping"));
            assertEquals(before + 1, first.methods.size() + second.methods.size());

            int ofFirst = first.methods.size();
            int ofSecond = second.methods.size();
            for (int i = 0; i < 10; i++) {
                assertEquals(1L, harness.echo(1L));
            }
            assertEquals(ofFirst + 5, first.methods.size());
            assertEquals(ofSecond + 5, second.methods.size());
        }
    }

    @Test
    void aDeafSidecarHoldsNobodyUpWhereAnotherOneServes() throws Exception {
        try (FakeSidecar deaf = new FakeSidecar(ONE);
                FakeSidecar good = new FakeSidecar(ONE);
                ServerSocket silent = new ServerSocket(0, 5, InetAddress.getLoopbackAddress())) {
            FakeSidecar.write(runDir, FakeSidecar.fingerprint(), FakeSidecar.TOKEN,
                    deaf.entry(silent.getLocalPort()), good.entry(good.port()));
            Harness harness = new Harness(runDir, "HANDSHAKE_TIMEOUT_MS=10000", "CIRCUIT_MS=1");
            long millis = Harness.millis(() -> {
                for (int i = 0; i < 20; i++) {
                    assertEquals(1L, harness.echo(1L));
                }
            });
            assertTrue(millis < 5000, millis + " ms");
        }
    }

    @Test
    void aSidecarWithoutAFreeConnectionLeavesItsTurnToTheNext() throws Exception {
        CountDownLatch end = new CountDownLatch(1);
        FakeSidecar.Script script = (peer, method, json) -> {
            if (json.contains("test.hold")) {
                Harness.await(end);
            }
            peer.rows(json, "[[1]]", false);
        };
        try (FakeSidecar first = new FakeSidecar(script);
                FakeSidecar second = new FakeSidecar(script)) {
            FakeSidecar.announceAll(runDir, first, second);
            Harness harness = new Harness(runDir, "POOL_SIZE=1", "QUEUE_LIMIT=0");
            useBoth(harness, first, second);
            PythonProcedure hold = Harness.procedure("test.hold").column("x", "ANY").build();
            Thread holder = new Thread(() -> harness.rows(hold));
            int before = first.methods.size() + second.methods.size();
            holder.start();
            Harness.await(() -> first.methods.size() + second.methods.size() > before);
            for (int i = 0; i < 10; i++) {
                assertEquals(1L, harness.echo(1L));
            }
            end.countDown();
            holder.join();
        }
    }

    @Test
    void whileTheCircuitIsOpenNobodyIsAsked() throws Exception {
        AtomicInteger asked = new AtomicInteger();
        try (FakeSidecar named = new FakeSidecar(ONE); ServerSocket refusing = refusing(asked)) {
            FakeSidecar.write(runDir, FakeSidecar.fingerprint(), FakeSidecar.TOKEN,
                    named.entry(refusing.getLocalPort()));
            Harness harness = new Harness(runDir, "CIRCUIT_MS=600000");
            for (int i = 0; i < 20; i++) {
                assertTrue(harness.error(Harness.ECHO, 1L).startsWith("[SC-210]"));
            }
            assertEquals(1, asked.get());
        }
    }

    @Test
    void afterAWhileOneCallTriesForAll() throws Exception {
        AtomicInteger asked = new AtomicInteger();
        try (FakeSidecar named = new FakeSidecar(ONE); ServerSocket refusing = refusing(asked)) {
            FakeSidecar.write(runDir, FakeSidecar.fingerprint(), FakeSidecar.TOKEN,
                    named.entry(refusing.getLocalPort()));
            Harness harness = new Harness(runDir, "CIRCUIT_MS=50");
            Harness.await(() -> harness.error(Harness.ECHO, 1L).startsWith("[SC-210]") && asked.get() >= 3);
        }
    }

    @Test
    void aChangedFileClosesTheCircuit() throws Exception {
        try (FakeSidecar sidecar = new FakeSidecar(ONE);
                ServerSocket free = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            int nobody = free.getLocalPort();
            free.close();
            Harness harness = new Harness(runDir, "CIRCUIT_MS=600000");
            String token = FakeSidecar.TOKEN;
            FakeSidecar.write(runDir, FakeSidecar.fingerprint(), token, sidecar.entry(nobody));
            assertTrue(harness.error(Harness.ECHO, 1L).contains("nothing answers on its port"));
            FakeSidecar.write(runDir, FakeSidecar.fingerprint(), token, sidecar.entry(sidecar.port()));
            assertEquals(1L, harness.echo(1L));
        }
    }

    @Test
    void whatElseTheFileTellsMayBeLong() throws Exception {
        try (FakeSidecar sidecar = new FakeSidecar(ONE)) {
            String entry = sidecar.entry(sidecar.port()).replace("}", ",\"left_out\":{\"a.py\":\""
                    + "\\u00e4".repeat(200_000) + "\"}}");
            FakeSidecar.write(runDir, FakeSidecar.fingerprint(), FakeSidecar.TOKEN, entry);
            assertEquals(1L, new Harness(runDir).echo(1L));
        }
    }

    @Test
    void anUnusableFileIsToldAndReadAgain() throws Exception {
        try (FakeSidecar sidecar = new FakeSidecar(ONE)) {
            Harness harness = new Harness(runDir);
            sidecar.announce(runDir);
            Path file = runDir.resolve("sidecar.json");
            String good = Files.readString(file);
            for (String bad : List.of("", "{", "[]", "{\"v\":1}", "{\"v\":2}", good.replace("port\":", "port\":-"),
                    good.replace("sidecars\":[{", "sidecars\":[1,{"), "{\"v\":2,\"fingerprint\":\"x\",\"sidecars\":[]}")) {
                Files.writeString(file, bad);
                assertTrue(harness.error(Harness.ECHO, 1L).startsWith("[SC-210]"), bad);
            }
            Files.writeString(file, good);
            assertEquals(1L, harness.echo(1L));
        }
    }

    @Test
    void aSidecarThatServesIsKeptWhileTheFileCannotBeRead() throws Exception {
        try (FakeSidecar sidecar = new FakeSidecar(ONE)) {
            sidecar.announce(runDir);
            Harness harness = new Harness(runDir);
            assertEquals(1L, harness.echo(1L));
            int connections = sidecar.tokensSeen.get();
            Path file = runDir.resolve("sidecar.json");
            String good = Files.readString(file);
            for (String content : List.of("{", good)) {
                Files.writeString(file, content);
                // Longer than the file is left alone.
                Harness.pause(100);
                assertEquals(1L, harness.echo(1L));
            }
            assertEquals(connections, sidecar.tokensSeen.get());
        }
    }

    private static FakeSidecar.Script hanging(Set<String> called, CountDownLatch end) {
        return FakeSidecar.echoOr((peer, method, json) -> {
            called.add(FakeSidecar.id(json));
            Harness.await(end);
        });
    }

    private static Set<String> cancelled(FakeSidecar sidecar) {
        return sidecar.controlRequests.stream().map(FakeSidecar::id).collect(Collectors.toSet());
    }

    private static void useBoth(Harness harness, FakeSidecar first, FakeSidecar second) {
        Harness.await(() -> harness.echo(1L).equals(1L) && !first.methods.isEmpty() && !second.methods.isEmpty());
    }

    private static long count(FakeSidecar sidecar, String method) {
        return sidecar.methods.stream().filter(method::equals).count();
    }

    /** Counts each connection and closes it at once; in this order, since its caller goes on then. */
    private static ServerSocket refusing(AtomicInteger asked) throws Exception {
        ServerSocket server = new ServerSocket(0, 5, InetAddress.getLoopbackAddress());
        Daemon.start("refusing", () -> {
            try {
                while (true) {
                    try (Socket caller = server.accept()) {
                        asked.incrementAndGet();
                    }
                }
            } catch (java.io.IOException closed) {
                // The test is over.
            }
        });
        return server;
    }
}
