package io.sidecypher.core;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Test;

/** Lines come whole, as UTF-8 and within their limit, or not at all. */
class LineReaderTests {
    @Test
    void linesOfEveryLengthComeWhole() throws IOException {
        StringBuilder text = new StringBuilder();
        int[] lengths = {0, 1, 16383, 16384, 16385, 40000, 0, 100000};
        for (int length : lengths) {
            text.append("é".repeat(length)).append('\n');
        }
        LineReader lines = reader(text.toString().getBytes(StandardCharsets.UTF_8), 1000000);
        for (int length : lengths) {
            assertEquals("é".repeat(length), lines.readLine());
        }
        assertNull(lines.readLine());
    }

    @Test
    void aByteAtATimeMakesTheSameLines() throws IOException {
        InputStream slow = new ByteArrayInputStream("ab\ncd\n".getBytes(StandardCharsets.UTF_8)) {
            @Override
            public synchronized int read(byte[] target, int offset, int length) {
                return super.read(target, offset, 1);
            }
        };
        LineReader lines = new LineReader(slow::read, 10);
        assertEquals("ab", lines.readLine());
        assertEquals("cd", lines.readLine());
    }

    @Test
    void aLineWithoutItsEndIsNoLine() throws IOException {
        assertNull(reader("partial".getBytes(StandardCharsets.UTF_8), 100).readLine());
    }

    @Test
    void aLineOverTheLimitIsRefused() throws IOException {
        assertEquals("x".repeat(50000), reader(("x".repeat(50000) + "\n").getBytes(StandardCharsets.UTF_8), 50000)
                .readLine());
        WireFailure refused = assertThrows(WireFailure.class,
                () -> reader(("x".repeat(50001) + "\n").getBytes(StandardCharsets.UTF_8), 50000).readLine());
        assertEquals(WireFailure.Kind.TOO_LARGE, refused.kind());
    }

    @Test
    void whatIsNotUtf8IsRefused() throws IOException {
        for (byte[] bytes : new byte[][] {{(byte) 0xff, '\n'}, {(byte) 0xed, (byte) 0xa0, (byte) 0x80, '\n'},
            {(byte) 0xc0, (byte) 0x80, '\n'}}) {
            assertThrows(WireFailure.class, () -> reader(bytes, 100).readLine());
        }
        assertEquals("\uFFFD", reader("\uFFFD\n".getBytes(StandardCharsets.UTF_8), 100).readLine());
    }

    private static LineReader reader(byte[] bytes, int limit) {
        return new LineReader(new ByteArrayInputStream(bytes)::read, limit);
    }
}
