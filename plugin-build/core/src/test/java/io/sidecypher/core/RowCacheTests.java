package io.sidecypher.core;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.core.JsonParser;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Rows that the plugin keeps: when they are given again, and how much memory they take. */
class RowCacheTests {
    private static final PythonProcedure PROCEDURE =
            Harness.procedure("test.kept").column("x", "INTEGER").cache("user").build();
    private static final long FILE_ID = 0x0123456789abcdefL;
    private static final String ID = "0123456789abcdef";
    private static final int PLACE = 7;

    @TempDir
    Path folder;

    private final CacheCounts counts = new CacheCounts();

    private static void writeEpochs(Path folder, long identity, int numbers) throws IOException {
        ByteBuffer content = ByteBuffer.allocate(Long.BYTES * numbers).order(ByteOrder.LITTLE_ENDIAN);
        content.putLong(0, ByteBuffer.wrap("SCEPOCH1".getBytes()).order(ByteOrder.LITTLE_ENDIAN).getLong());
        content.putLong(Long.BYTES, identity);
        Path draft = Files.write(folder.resolve("draft"), content.array());
        Files.move(draft, folder.resolve("epochs"), StandardCopyOption.REPLACE_EXISTING);
    }

    private void replaceEpoch(long value) throws IOException {
        try (RandomAccessFile file = new RandomAccessFile(folder.resolve("epochs").toFile(), "rw")) {
            file.seek(Long.BYTES * (8L + PLACE));
            file.writeLong(Long.reverseBytes(value));
        }
    }

    private RowCache cache(int bytes) {
        Map<String, String> settings =
                Map.of("SIDECYPHER_RUN_DIR", folder.toString(), "SIDECYPHER_CACHE_BYTES", "" + bytes);
        return new RowCache(Settings.of(settings, null), counts);
    }

    private static RowCache.Key key(String arguments) {
        return RowCache.Key.of(PROCEDURE, new Caller("neo4j", "tester", ""), arguments);
    }

    private static Reply reply(String file, long millis, long epoch) {
        return reply(file, millis, epoch, 1L);
    }

    private static Reply reply(String file, long millis, long epoch, Object value) {
        Validity validity = new Validity(file, millis, new int[] {PLACE}, new long[] {epoch});
        return new Reply(List.<Object[]>of(new Object[] {value}), false, null, validity, null);
    }

    private static void keep(RowCache cache, String arguments, Reply reply) {
        cache.keep(key(arguments), reply, System.nanoTime());
    }

    private static void await(java.util.function.BooleanSupplier condition) {
        long end = System.nanoTime() + 20_000_000_000L;
        while (!condition.getAsBoolean()) {
            assertTrue(System.nanoTime() < end, "the condition never held");
            Thread.onSpinWait();
        }
    }

    @Test
    void rowsAreGivenUntilTheirEpochIsReplaced() throws IOException {
        writeEpochs(folder, FILE_ID, 8 + 4096);
        RowCache cache = cache(1 << 20);
        keep(cache, "[1]", reply(ID, 60_000, 0));

        assertNotNull(cache.find(key("[1]"), true));
        assertNull(cache.find(key("[2]"), true));
        replaceEpoch(5);
        assertNull(cache.find(key("[1]"), true));
        keep(cache, "[1]", reply(ID, 60_000, 5));
        assertNotNull(cache.find(key("[1]"), true));
    }

    @Test
    void aReplyIsKeptOnlyForItsTimeAndItsFile() throws IOException {
        writeEpochs(folder, FILE_ID, 8 + 4096);
        RowCache cache = cache(1 << 20);

        keep(cache, "[1]", reply(ID, 0, 0));
        keep(cache, "[2]", reply("0123456789abcdee", 60_000, 0));
        keep(cache, "[3]", reply(ID, 60_000, 1));

        for (String arguments : List.of("[1]", "[2]", "[3]")) {
            assertNull(cache.find(key(arguments), true), arguments);
        }
    }

    @Test
    void rowsEndWithTheFileOfEpochs() throws IOException {
        for (String how : List.of("replaced", "removed", "cut off")) {
            writeEpochs(folder, FILE_ID, 8 + 4096);
            RowCache cache = cache(1 << 20);
            keep(cache, "[1]", reply(ID, 60_000, 0));
            assertNotNull(cache.find(key("[1]"), true));
            switch (how) {
                case "replaced" -> writeEpochs(folder, FILE_ID, 8 + 4096);
                case "removed" -> Files.delete(folder.resolve("epochs"));
                default -> {
                    try (RandomAccessFile file = new RandomAccessFile(folder.resolve("epochs").toFile(), "rw")) {
                        file.setLength(0);
                    }
                }
            }
            // A look at memory that was cut off is an error of the JVM, so nothing looks meanwhile.
            long noticed = System.nanoTime() + 100_000_000L;
            await(() -> System.nanoTime() > noticed);
            assertNull(cache.find(key("[1]"), true), how);
        }
    }

    @Test
    void nothingIsKeptWithoutUsableEpochs() throws IOException {
        RowCache missing = cache(1 << 20);
        keep(missing, "[1]", reply(ID, 60_000, 0));
        assertNull(missing.find(key("[1]"), true));

        writeEpochs(folder, FILE_ID, 8);
        RowCache shorter = cache(1 << 20);
        keep(shorter, "[1]", reply(ID, 60_000, 0));
        assertNull(shorter.find(key("[1]"), true));
        assertTrue(!cache(0).serves(PROCEDURE));
    }

    @Test
    void whatIsKeptStaysBelowItsBytes() throws IOException {
        writeEpochs(folder, FILE_ID, 8 + 4096);
        int most = 1 << 20;
        RowCache cache = cache(most);
        for (int i = 0; i < 1_000_000; i++) {
            keep(cache, "[" + i + "]", reply(ID, 60_000, 0));
        }

        java.util.regex.Matcher found =
                java.util.regex.Pattern.compile("\"bytes\":(\\d+)").matcher(Counts.list(counts.all(), 10_000));
        assertTrue(found.find());
        long bytes = Long.parseLong(found.group(1));
        assertTrue(bytes <= most && bytes > most / 2, "bytes " + bytes);
        assertNotNull(cache.find(key("[999999]"), true));
        assertNull(cache.find(key("[0]"), true));
        keep(cache, "[\"large\"]", reply(ID, 60_000, 0, "x".repeat(most)));
        assertNull(cache.find(key("[\"large\"]"), true));
    }

    /** A sidecar closes the connection on which it gets a negative count, and cancels all calls of the JVM. */
    @Test
    void noCountIsEverNegative() throws Exception {
        writeEpochs(folder, FILE_ID, 8 + 4096);
        RowCache cache = cache(1 << 20);
        Consumer<String> keeper = arguments -> keep(cache, arguments, reply(ID, 0, 0));
        Consumer<String> finder = arguments -> cache.find(key(arguments), true);
        AtomicBoolean isOver = new AtomicBoolean();
        List<Thread> users = Stream.of(keeper, finder, keeper, finder)
                .map(user -> new Thread(() -> {
                    while (!isOver.get()) {
                        user.accept("[" + ThreadLocalRandom.current().nextInt(16) + "]");
                    }
                }))
                .toList();
        users.forEach(Thread::start);
        try {
            for (int i = 0; i < 400_000; i++) {
                String listed = Counts.list(counts.all(), 10_000);
                assertFalse(listed.contains(":-"), listed);
            }
        } finally {
            isOver.set(true);
            for (Thread user : users) {
                user.join();
            }
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"{\"a\":1}", "{}", "[1]", "[]", "\"ab\"", "1234567", "{\"$date\":\"2024-02-29\"}"})
    void whatIsKeptNeedsAboutItsBytes(String item) throws IOException {
        writeEpochs(folder, FILE_ID, 8 + 4096);
        int most = 8 << 20;
        RowCache cache = cache(most);
        String json = "[" + (item + ",").repeat(999) + item + "]";
        long before = usedHeap();
        for (int i = 0; i < 1500; i++) {
            keep(cache, "[" + i + "]", reply(ID, 60_000, 0, value(json)));
        }
        long used = usedHeap() - before;

        assertTrue(used <= 1.1 * most, item + " needed " + used + " bytes of " + most);
        assertTrue(used >= 0.2 * most, item + " used only " + used + " bytes of " + most);
        assertNotNull(cache.find(key("[1499]"), true));
    }

    private static Object value(String json) throws IOException {
        try (JsonParser parser = Json.FACTORY.createParser(json)) {
            parser.nextToken();
            return new ValueReader(parser, new Entities(null)).read();
        }
    }

    private static long usedHeap() {
        System.gc();
        return Runtime.getRuntime().totalMemory() - Runtime.getRuntime().freeMemory();
    }

    @Test
    void aMalformedValidityKeepsNothing() {
        assertNull(Validity.of("text"));
        for (String text : List.of(
                "{}",
                "{\"file\":1,\"ms\":1,\"epochs\":[]}",
                "{\"file\":\"a\",\"ms\":1.5,\"epochs\":[]}",
                "{\"file\":\"a\",\"ms\":1,\"epochs\":[1]}",
                "{\"file\":\"a\",\"ms\":1,\"epochs\":[[4096,1]]}",
                "{\"file\":\"a\",\"ms\":1,\"epochs\":[[-1,1]]}",
                "{\"file\":\"a\",\"ms\":1,\"epochs\":[[1,\"1\"]]}")) {
            assertNull(Validity.of(Json.parseObject(text)), text);
        }
        assertEquals(2, Validity.of(Json.parseObject(
                "{\"file\":\"a\",\"ms\":1,\"epochs\":[[0,9],[4095,8]]}")).places().length);
    }
}
