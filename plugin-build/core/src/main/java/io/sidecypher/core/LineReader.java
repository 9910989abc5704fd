package io.sidecypher.core;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/** Reads lines of UTF-8 up to a limit, which is checked before a line is kept in memory. */
final class LineReader {
    /** Reads some bytes into an array; returns how many, or -1 at the end. */
    interface Source {
        int read(byte[] into) throws IOException;
    }

    private final Source source;
    private final int limit;
    private final byte[] buffer = new byte[16 * 1024];
    private int start;
    private int end;

    LineReader(Source source, int limit) {
        this.source = source;
        this.limit = limit;
    }

    /** Returns the next line without its end, or null if the stream ends, also within a line. */
    String readLine() throws IOException {
        ByteArrayOutputStream earlier = null;
        while (true) {
            int newline = indexOfNewline();
            int length = (newline < 0 ? end : newline) - start;
            if ((earlier == null ? 0 : earlier.size()) + length > limit) {
                throw new WireFailure(WireFailure.Kind.TOO_LARGE, "a line is longer than the limit");
            }
            if (newline >= 0 && earlier == null) {
                String line = decode(buffer, start, length);
                start = newline + 1;
                return line;
            }
            if (length > 0) {
                earlier = earlier == null ? new ByteArrayOutputStream(4 * buffer.length) : earlier;
                earlier.write(buffer, start, length);
            }
            if (newline >= 0) {
                start = newline + 1;
                return decode(earlier.toByteArray(), 0, earlier.size());
            }
            start = 0;
            end = Math.max(0, source.read(buffer));
            if (end == 0) {
                return null;
            }
        }
    }

    private int indexOfNewline() {
        for (int i = start; i < end; i++) {
            if (buffer[i] == '\n') {
                return i;
            }
        }
        return -1;
    }

    private static String decode(byte[] bytes, int offset, int length) {
        String line = new String(bytes, offset, length, StandardCharsets.UTF_8);
        // The decoder replaces invalid UTF-8; only then can encoding the line result in other bytes.
        if (line.indexOf('\uFFFD') >= 0
                && !Arrays.equals(
                        line.getBytes(StandardCharsets.UTF_8), Arrays.copyOfRange(bytes, offset, offset + length))) {
            throw new WireFailure(WireFailure.Kind.PROTOCOL, "it is not UTF-8");
        }
        return line;
    }
}
