package io.sidecypher.core;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A stranger on the sidecar's port learns nothing, and a sidecar gone bad can run nothing but Cypher. */
@Timeout(60)
class SecurityTests {
    @TempDir Path runDir;

    @Test
    void aStrangerOnThePortNeverSeesTheToken() throws Exception {
        try (FakeSidecar stranger = new FakeSidecar((peer, method, json) -> {})) {
            FakeSidecar.write(runDir, "ab".repeat(32), FakeSidecar.TOKEN, stranger.entryWithoutSocket());
            String error = new Harness(runDir).error(Harness.ECHO, 1L);
            assertTrue(error.startsWith("[SC-210]") && error.contains("is not the sidecar's"), error);
            Harness.await(stranger.open::isEmpty);
            assertEquals(0, stranger.tokensSeen.get());
        }
    }

    @Test
    void aRefusedTokenIsUnavailableAndNotShown() throws Exception {
        try (FakeSidecar sidecar = new FakeSidecar((peer, method, json) -> {})) {
            sidecar.announce(runDir, FakeSidecar.fingerprint(), "wrong-token-wrong-token");
            String error = new Harness(runDir).error(Harness.ECHO, 1L);
            assertTrue(error.contains("refused the token"), error);
            assertFalse(error.contains("wrong-token") || error.contains(runDir.toString()), error);
        }
    }

    @Test
    void secretsAreNotInTheTextOfARendezvous() {
        PluginIdentity identity = new PluginIdentity("the key", "the certificate");
        String text = new Rendezvous("g", "127.0.0.1", 1, "f", FakeSidecar.TOKEN, "", null, identity).toString();
        assertFalse(text.contains(FakeSidecar.TOKEN));
        assertFalse((text + identity).contains("the key"));
    }

    @Test
    void aSidecarOnAnotherMachineSeesThePluginsCertificate() throws Exception {
        try (FakeSidecar sidecar = new FakeSidecar(FakeSidecar.echoOr((peer, method, json) -> {}))) {
            sidecar.wantsIdentity = true;
            // It may start again, so its file names no generation.
            FakeSidecar.write(runDir, FakeSidecar.fingerprint(), FakeSidecar.TOKEN,
                    "{\"generation\":\"\",\"host\":\"127.0.0.1\",\"port\":" + sidecar.port() + "}");
            assertTrue(new Harness(runDir).error(Harness.ECHO, 1L).contains("SC-210"));

            Files.writeString(runDir.resolve("plugin-key.pem"), "no key");
            Files.writeString(runDir.resolve("plugin-certificate.pem"), FakeSidecar.certificatePem());
            String malformed = new Harness(runDir).error(Harness.ECHO, 1L);
            assertTrue(malformed.contains("is malformed") && !malformed.contains("no key"), malformed);

            Files.writeString(runDir.resolve("plugin-key.pem"), FakeSidecar.keyPem());
            assertEquals(1L, new Harness(runDir).echo(1L));
            assertEquals(Set.of(FakeSidecar.fingerprint()), sidecar.peers);
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {
        "f\ng\no0\nname\ne\n",
        "r\nu\nrj\njava.lang.System\ne\n",
        "i\njava.io.File\ns/tmp\ne\n",
        "s\n",
        "m\nd\no0\ne\n",
        "l\na\n",
        "c\nz:java.lang.System\nexit\ni1\ne\n",
        "c\nt\nshutdown\ns{}\ne\n",
        "c\nt\nrun\ni1\ne\n",
        "c\nt\nrun\ns{}\ns{}\ne\n",
        "\n",
        "q\n",
    })
    void aCommandOtherThanRunIsRefusedAndTheConnectionClosed(String command) throws Exception {
        AtomicReference<String> answer = new AtomicReference<>();
        AtomicReference<Boolean> ended = new AtomicReference<>();
        FakeSidecar.Script script = (peer, method, json) -> {
            peer.raw(command);
            answer.set(peer.line());
            try {
                peer.line();
                ended.set(false);
            } catch (IOException closed) {
                ended.set(true);
            }
        };
        AtomicInteger executed = new AtomicInteger();
        try (FakeSidecar sidecar = new FakeSidecar(script).announce(runDir)) {
            Harness harness = new Harness(runDir);
            harness.tx = Harness.transaction((cypher, parameters) -> {
                executed.incrementAndGet();
                return List.of();
            }, () -> {});
            assertTrue(harness.error(Harness.ECHO, 1L).startsWith("[SC-214]"));
            Harness.await(() -> ended.get() != null);
            assertEquals("!xsrefused", answer.get());
            assertTrue(ended.get());
            assertEquals(0, executed.get());
        }
    }

    @Test
    void aQueryForAnotherCallIsNotRun() throws Exception {
        AtomicInteger executed = new AtomicInteger();
        FakeSidecar.Script script = (peer, method, json) -> peer.run("{\"id\":\"other\"}", "RETURN 1", "{}");
        try (FakeSidecar sidecar = new FakeSidecar(script).announce(runDir)) {
            Harness harness = new Harness(runDir);
            harness.tx = Harness.transaction((cypher, parameters) -> {
                executed.incrementAndGet();
                return List.of();
            }, () -> {});
            assertTrue(harness.error(Harness.ECHO, 1L).startsWith("[SC-214]"));
            assertEquals(0, executed.get());
        }
    }

    @Test
    void aCloseServesNoQueries() throws Exception {
        AtomicInteger executed = new AtomicInteger();
        AtomicReference<Boolean> refused = new AtomicReference<>();
        FakeSidecar.Script script = (peer, method, json) -> {
            if (method.equals("close")) {
                peer.raw("c\nt\nrun\n");
                refused.set(peer.line().equals("!xsrefused"));
            } else {
                peer.rows(json, "[[1],[2]]", true);
            }
        };
        try (FakeSidecar sidecar = new FakeSidecar(script).announce(runDir)) {
            Harness harness = new Harness(runDir);
            try (var stream = harness.stream(Harness.ECHO, 1L)) {
                assertTrue(stream.findFirst().isPresent());
            }
            Harness.await(() -> refused.get() != null);
            assertTrue(refused.get());
            assertEquals(0, executed.get());
        }
    }

    @Test
    void noPortIsOpenedToBeConnectedTo() throws Exception {
        FakeSidecar.Script script = (peer, method, json) -> {
            peer.run(json, "RETURN 1", "{}");
            peer.rows(json, "[[1]]", false);
        };
        try (FakeSidecar sidecar = new FakeSidecar(script).announce(runDir)) {
            Set<String> before = listening();
            assertFalse(before.isEmpty());
            assertEquals(1L, new Harness(runDir).echo(1L));
            Set<String> after = listening();
            after.removeAll(before);
            assertEquals(Set.of(), after);
        }
    }

    /** The inodes of this process's listening sockets. */
    private static Set<String> listening() throws IOException {
        Set<String> all = new HashSet<>();
        for (String table : List.of("/proc/self/net/tcp", "/proc/self/net/tcp6")) {
            for (String line : Files.readAllLines(Path.of(table))) {
                String[] fields = line.trim().split("\\s+");
                if (fields[3].equals("0A")) {
                    all.add("socket:[" + fields[9] + "]");
                }
            }
        }
        Set<String> own = new HashSet<>();
        try (DirectoryStream<Path> descriptors = Files.newDirectoryStream(Path.of("/proc/self/fd"))) {
            for (Path descriptor : descriptors) {
                try {
                    own.add(Files.readSymbolicLink(descriptor).toString());
                } catch (NoSuchFileException closed) {
                    // Sockets of an earlier test may still be closing.
                }
            }
        }
        own.retainAll(all);
        return own;
    }
}
