package io.sidecypher.core;

import java.util.List;
import java.util.Map;

/**
 * How long the rows of a reply may be kept.
 *
 * @param file the identity of the file of epochs
 * @param millis the time from the request on
 * @param places the places of epochs in that file
 * @param epochs what was there; when one of them is replaced, the rows are void
 */
record Validity(String file, long millis, int[] places, long[] epochs) {
    /** Reads the member of a reply; returns null if it is malformed, so that nothing is kept. */
    static Validity of(Object plain) {
        if (plain instanceof Map<?, ?> members
                && members.get("file") instanceof String file
                && members.get("ms") instanceof Long millis
                && members.get("epochs") instanceof List<?> pairs) {
            int[] places = new int[pairs.size()];
            long[] epochs = new long[pairs.size()];
            for (int i = 0; i < places.length; i++) {
                if (pairs.get(i) instanceof List<?> pair
                        && pair.size() == 2
                        && pair.get(0) instanceof Long place
                        && place >= 0
                        && place < Epochs.COUNT
                        && pair.get(1) instanceof Long epoch) {
                    places[i] = place.intValue();
                    epochs[i] = epoch;
                } else {
                    return null;
                }
            }
            return new Validity(file, millis, places, epochs);
        }
        return null;
    }

    /** Returns whether none of the epochs was replaced. */
    boolean holdsIn(Epochs current) {
        for (int i = 0; i < places.length; i++) {
            if (current.at(places[i]) != epochs[i]) {
                return false;
            }
        }
        return true;
    }
}
