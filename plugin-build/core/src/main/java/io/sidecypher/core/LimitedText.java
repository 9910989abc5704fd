package io.sidecypher.core;

import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.exc.StreamConstraintsException;
import java.io.IOException;
import java.io.Writer;

/** Collects the JSON of one envelope and stops as soon as it is longer than a line may be. */
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

    private final StringBuilder text = new StringBuilder(256);
    private final int limit;

    private LimitedText(int limit) {
        this.limit = limit;
    }

    static String of(int limit, Content content) {
        LimitedText target = new LimitedText(limit);
        try (JsonGenerator json = Json.FACTORY.createGenerator(target)) {
            // Otherwise an abandoned envelope would be closed properly, over its limit.
            json.disable(JsonGenerator.Feature.AUTO_CLOSE_JSON_CONTENT);
            content.writeTo(json);
        } catch (StreamConstraintsException tooDeep) {
            throw new ValueProblem("is nested deeper than " + Json.MAX_DEPTH + " levels");
        } catch (IOException impossible) {
            throw new IllegalStateException("writing to memory failed", impossible);
        }
        return target.text.toString();
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
