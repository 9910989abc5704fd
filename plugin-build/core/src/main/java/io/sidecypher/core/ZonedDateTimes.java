package io.sidecypher.core;

import java.time.DateTimeException;
import java.time.ZoneOffset;
import java.time.ZonedDateTime;
import java.time.format.DateTimeFormatter;

/**
 * Reads ZONED DATETIMEs.
 *
 * <p>Most are in UTC and have seconds, such as {@code 2024-02-29T10:11:12.5Z}. A formatter would take
 * more than a microsecond for each, which is more than all the other columns of a row together take.
 */
final class ZonedDateTimes {
    private static final String FORM = "0000-00-00T00:00:00";
    private static final int SECONDS_END = FORM.length();
    private static final int NANO_DIGITS = 9;

    private ZonedDateTimes() {}

    /**
     * Returns the moment that ISO 8601 writes in this way, with the zone in brackets if it has one.
     *
     * @throws DateTimeException if it is none
     */
    static ZonedDateTime parse(String text) {
        return isPlainUtc(text) ? plainUtc(text) : ZonedDateTime.parse(text, DateTimeFormatter.ISO_ZONED_DATE_TIME);
    }

    private static boolean isPlainUtc(String text) {
        int end = text.length() - 1;
        if (end < SECONDS_END || text.charAt(end) != 'Z' || !has(FORM, text)) {
            return false;
        }
        int digits = end - SECONDS_END - 1;
        return end == SECONDS_END
                || (text.charAt(SECONDS_END) == '.'
                        && digits > 0
                        && digits <= NANO_DIGITS
                        && areDigits(text, SECONDS_END + 1, end));
    }

    private static boolean has(String form, String text) {
        for (int i = 0; i < form.length(); i++) {
            boolean fits = form.charAt(i) == '0' ? isDigit(text.charAt(i)) : form.charAt(i) == text.charAt(i);
            if (!fits) {
                return false;
            }
        }
        return true;
    }

    private static boolean areDigits(String text, int start, int end) {
        for (int i = start; i < end; i++) {
            if (!isDigit(text.charAt(i))) {
                return false;
            }
        }
        return true;
    }

    private static boolean isDigit(char character) {
        return character >= '0' && character <= '9';
    }

    private static ZonedDateTime plainUtc(String text) {
        return ZonedDateTime.of(
                number(text, 0, 4),
                number(text, 5, 7),
                number(text, 8, 10),
                number(text, 11, 13),
                number(text, 14, 16),
                number(text, 17, 19),
                nanos(text),
                ZoneOffset.UTC);
    }

    private static int nanos(String text) {
        int end = text.length() - 1;
        int nanos = end == SECONDS_END ? 0 : number(text, SECONDS_END + 1, end);
        for (int digits = end - SECONDS_END - 1; digits < NANO_DIGITS; digits++) {
            nanos *= 10;
        }
        return nanos;
    }

    private static int number(String text, int start, int end) {
        return Integer.parseInt(text, start, end, 10);
    }
}
