package io.sidecypher.core;

import java.util.Arrays;
import java.util.List;
import java.util.Map;

/** Estimates the heap that values need, on a JVM with compressed pointers, which heaps below 32 GiB have. */
final class HeapSize {
    private static final int LIST = 80;
    private static final int ITEM = 6;
    private static final int MAP = 136;
    private static final int MEMBER = 52;
    private static final int TEXT = 48;
    private static final int CHARACTER = 2;
    private static final int NUMBER = 24;
    /** Of the largest one: a ZONED DATETIME consists of four objects. */
    private static final int OTHER = 100;

    private HeapSize() {}

    /** Returns about the bytes of a value that was read from JSON, or of rows of such values. */
    static long of(Object value) {
        if (value == null || value instanceof Boolean) {
            return 0;
        }
        if (value instanceof String text) {
            return TEXT + (long) CHARACTER * text.length();
        }
        if (value instanceof Number) {
            return NUMBER;
        }
        if (value instanceof Object[] row) {
            return of(Arrays.asList(row));
        }
        if (value instanceof List<?> list) {
            long bytes = LIST + (long) ITEM * list.size();
            for (Object item : list) {
                bytes += of(item);
            }
            return bytes;
        }
        if (value instanceof Map<?, ?> map) {
            long bytes = MAP;
            for (Map.Entry<?, ?> member : map.entrySet()) {
                bytes += MEMBER + of(member.getKey()) + of(member.getValue());
            }
            return bytes;
        }
        return OTHER;
    }
}
