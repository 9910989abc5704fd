package io.sidecypher.core;

import com.fasterxml.jackson.core.JsonGenerator;
import java.io.IOException;
import java.io.Writer;
import java.nio.charset.StandardCharsets;

/** Collects the JSON of one envelope and stops when its line would exceed the limit in bytes. */
final class LimitedText extends Writer {
    /** Thrown when an envelope grows over the limit. */
    static final class TooLong extends RuntimeException {
        private static final long serialVersionUID = 1L;

        TooLong() {
            super(null, null, false, false);
        }
    }

    @FunctionalInterface
    interface Content {
        void writeTo(JsonGenerator json) throws IOException;
    }

    private static final int MOST_BYTES_OF_A_CHARACTER = 4;
    private static final int ROOM_FOR_THE_PREFIX = 4;

    private final StringBuilder text = new StringBuilder(256);
    private final int limit;

    private LimitedText(int limit) {
        this.limit = limit;
    }

    static String of(int limit, Content content) {
        LimitedText target = new LimitedText(limit);
        try (JsonGenerator json = Json.FACTORY.createGenerator(target)) {
            // Otherwise Jackson would complete an abandoned envelope, beyond its limit.
            json.disable(JsonGenerator.Feature.AUTO_CLOSE_JSON_CONTENT);
            content.writeTo(json);
        } catch (IOException impossible) {
            throw new IllegalStateException("writing to memory failed", impossible);
        }
        String text = target.text.toString();
        // Bytes are counted only near the limit: most envelopes are much smaller.
        if (text.length() > limit / MOST_BYTES_OF_A_CHARACTER
                && text.getBytes(StandardCharsets.UTF_8).length + ROOM_FOR_THE_PREFIX > limit) {
            throw new TooLong();
        }
        return text;
    }

    /** Returns the number of characters that were written to an envelope so far. */
    static int length(JsonGenerator json) {
        return ((LimitedText) json.getOutputTarget()).text.length() + json.getOutputBuffered();
    }

    @Override
    public void write(char[] characters, int offset, int length) {
        if (text.length() + length > limit) {
            throw new TooLong();
        }
        text.append(characters, offset, length);
    }

    @Override
    public void flush() {}

    @Override
    public void close() {}
}
