package io.sidecypher.core;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Whatever bytes come instead of a reply: rows, one clear error, or the end of the connection. */
@Timeout(120)
class FuzzTests {
    private static final long SEED = 20240229;
    /** How many broken replies there are; `make soak` asks for more. */
    private static final int ROUNDS = Integer.getInteger("sidecypher.test.fuzz", 10_000);
    /** Fewer go over a connection, since nearly each of them costs one. */
    private static final int CONNECTIONS = ROUNDS / 30;
    private static final List<String> PIECES = List.of(
            "\"", "\\", "{", "}", "[", "]", ",", ":", "null", "NaN", "-", "1e999", "\"$map\":", "\"$node\":", "\"id\":",
            "\"rows\":[]", "\\ud800", "\u001a", "\uFFFF", "99999999999999999999", "\"$path\":[[],[]]", "{\"$date\":");

    private final Random random = new Random(SEED);
    private final FakeGraph graph = new FakeGraph();

    @TempDir Path runDir;

    private String reply(String id) {
        graph.node("4:a:1", Map.of("n", 1));
        return "{\"id\":\"" + id + "\",\"rows\":[[1],[-2.5e10],[\"t\\\"\\\\\\u00e9\\n\"],[null],[true],[{\"$float\":\"NaN\"}],"
                + "[{\"$date\":\"2024-02-29\"}],[{\"$datetime\":\"2024-02-29T10:11:12+01:00[Europe/Berlin]\"}],"
                + "[{\"$time\":\"10:11:12Z\"}],[{\"$duration\":[1,2,3,4]}],[{\"$point\":[4326,1.0,2.0]}],"
                + "[{\"$bytes\":\"AP8=\"}],[{\"$map\":{\"$x\":[]}}],[{\"$node\":[\"4:a:1\",[],{}]}],"
                + "[{\"$path\":[[[\"4:a:1\",[],{}]],[]]}],[{\"a\":[{\"b\":{}}]}]],\"more\":false}";
    }

    private byte[] mutated(String text) {
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        for (int times = 1 + random.nextInt(4); times > 0 && bytes.length > 0; times--) {
            int at = random.nextInt(bytes.length);
            int to = Math.min(bytes.length, at + 1 + random.nextInt(40));
            bytes = switch (random.nextInt(5)) {
                case 0 -> joined(Arrays.copyOf(bytes, at), new byte[] {(byte) random.nextInt(256)}, bytes, at + 1);
                case 1 -> Arrays.copyOf(bytes, at);
                case 2 -> joined(Arrays.copyOf(bytes, at), new byte[0], bytes, to);
                case 3 -> joined(Arrays.copyOf(bytes, to), Arrays.copyOfRange(bytes, at, to), bytes, to);
                default -> joined(Arrays.copyOf(bytes, at), piece(), bytes, at);
            };
        }
        return bytes;
    }

    private byte[] piece() {
        return PIECES.get(random.nextInt(PIECES.size())).getBytes(StandardCharsets.UTF_8);
    }

    private static byte[] joined(byte[] head, byte[] middle, byte[] rest, int from) {
        byte[] all = Arrays.copyOf(head, head.length + middle.length + rest.length - from);
        System.arraycopy(middle, 0, all, head.length, middle.length);
        System.arraycopy(rest, from, all, head.length + middle.length, rest.length - from);
        return all;
    }

    @Test
    void noReplyMakesTheReaderFailInAnotherWay() {
        Settings settings = Settings.of(Map.of("SIDECYPHER_RUN_DIR", runDir.toString()), null);
        Call call = new Call(Harness.ECHO, graph.transaction(), () -> {}, settings, new Watchdog());
        String whole = reply(call.id());
        assertEquals(16, Reply.parse(whole, call).rows().size());
        int read = 0;
        for (int i = 0; i < ROUNDS; i++) {
            String text = new String(mutated(whole), StandardCharsets.UTF_8);
            try {
                Reply.parse(text, call);
                read++;
            } catch (WireFailure | SidecypherException told) {
                assertTrue(told.getMessage() != null, text);
            } catch (RuntimeException | StackOverflowError other) {
                throw new AssertionError("seed " + SEED + ", round " + i + ": " + text, other);
            }
        }
        assertTrue(read < 0.9 * ROUNDS, read + " were read");
    }

    @Test
    void noBytesOnTheWireHangOrLeakAnything() throws Exception {
        FakeSidecar.Script script = (peer, method, json) -> {
            peer.raw(mutated("!ys" + reply(FakeSidecar.id(json)).replace('\\', '\u001a') + "\n"));
            peer.socket.close();
        };
        try (FakeSidecar sidecar = new FakeSidecar(script).announce(runDir)) {
            Harness harness = new Harness(runDir);
            harness.tx = graph.transaction();
            for (int i = 0; i < CONNECTIONS; i++) {
                try (Stream<Object[]> stream = harness.stream(Harness.ECHO, 1L)) {
                    stream.count();
                } catch (SidecypherException told) {
                    assertTrue(told.text().startsWith("["), told.text());
                }
            }
            Harness.await(() -> sidecar.open.size() <= 2);
        }
    }
}
