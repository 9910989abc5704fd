package io.sidecypher.core;

import java.nio.file.Path;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/**
 * Rows of calls whose procedures let the plugin keep them. They are given again for equal arguments
 * until their time has passed or a sidecar makes them void.
 *
 * <p>It is divided into parts with a lock each, and each part drops what was not used for longest.
 */
final class RowCache {
    /**
     * What rows are kept for.
     *
     * @param user the user who may get them; empty for all
     * @param arguments a list of simple values, or the JSON of all arguments
     */
    record Key(PythonProcedure procedure, String database, String user, Object arguments) {
        static Key of(PythonProcedure procedure, Caller caller, Object arguments) {
            String user = procedure.cache() == PythonProcedure.CacheScope.ALL ? "" : caller.user();
            return new Key(procedure, caller.database(), user, arguments);
        }
    }

    private record Kept(List<Object[]> rows, long end, Validity validity, Epochs epochs, long bytes) {}

    private static final int PARTS = 16;
    private static final long LOOK_NANOS = TimeUnit.MILLISECONDS.toNanos(50);

    /** Bytes of one entry without its arguments and rows, and of each of its epochs. */
    private static final int BYTES_OF_ENTRY = 300;
    private static final int BYTES_OF_EPOCH = 12;

    private final Path runDir;
    private final long mostBytes;
    private final CacheCounts counts;
    private final Part[] parts = new Part[PARTS];
    private volatile Epochs epochs;
    private volatile long lookedAt = System.nanoTime() - LOOK_NANOS;

    RowCache(Settings settings, CacheCounts counts) {
        runDir = settings.runDir();
        mostBytes = settings.cacheBytes();
        this.counts = counts;
        for (int i = 0; i < PARTS; i++) {
            parts[i] = new Part(mostBytes / PARTS);
        }
    }

    /** Returns whether rows of a procedure may be kept. */
    boolean serves(PythonProcedure procedure) {
        return procedure.cache() != PythonProcedure.CacheScope.NONE && mostBytes > 0 && runDir != null;
    }

    /**
     * Returns the rows of an earlier call, or null.
     *
     * @param withSidecar whether a sidecar could be called instead
     */
    List<Object[]> find(Key key, boolean withSidecar) {
        Part part = part(key);
        Kept kept = part.get(key);
        if (kept != null && !isValid(kept)) {
            part.remove(key, kept);
            kept = null;
        }
        counts.of(key.procedure()).found(kept != null, withSidecar);
        return kept == null ? null : kept.rows();
    }

    /**
     * Keeps the rows of a reply, if its sidecar allows it.
     *
     * @param begin the time of the request, of {@link System#nanoTime}
     */
    void keep(Key key, Reply reply, long begin) {
        Validity validity = reply.validity();
        Epochs current = validity == null ? null : current();
        if (current == null || !current.identity().equals(validity.file())) {
            return;
        }
        long bytes = BYTES_OF_ENTRY
                + (long) BYTES_OF_EPOCH * validity.places().length
                + HeapSize.of(key.arguments())
                + HeapSize.of(reply.rows());
        long end = begin + TimeUnit.MILLISECONDS.toNanos(validity.millis());
        part(key).put(key, new Kept(reply.rows(), end, validity, current, bytes));
    }

    private boolean isValid(Kept kept) {
        return System.nanoTime() - kept.end() < 0
                && kept.epochs() == current()
                && kept.validity().holdsIn(kept.epochs());
    }

    /** Returns the epochs of the run folder, or null; a replaced file is noticed after a while. */
    private Epochs current() {
        Epochs known = epochs;
        if (System.nanoTime() - lookedAt < LOOK_NANOS) {
            return known;
        }
        lookedAt = System.nanoTime();
        if (known == null || !known.isCurrent(runDir)) {
            known = Epochs.open(runDir);
            epochs = known;
        }
        return known;
    }

    private Part part(Key key) {
        int hash = key.hashCode();
        return parts[(hash ^ hash >>> 16) & (PARTS - 1)];
    }

    private final class Part {
        private final Map<Key, Kept> entries = new LinkedHashMap<>(16, 0.75f, true);
        private final long most;
        private long bytes;

        Part(long most) {
            this.most = most;
        }

        synchronized Kept get(Key key) {
            return entries.get(key);
        }

        synchronized void put(Key key, Kept kept) {
            if (kept.bytes() > most) {
                return;
            }
            removed(key, entries.put(key, kept));
            bytes += kept.bytes();
            counts.of(key.procedure()).add(1, kept.bytes());
            Iterator<Map.Entry<Key, Kept>> oldest = entries.entrySet().iterator();
            while (bytes > most) {
                Map.Entry<Key, Kept> entry = oldest.next();
                Key dropped = entry.getKey();
                Kept old = entry.getValue();
                oldest.remove();
                removed(dropped, old);
            }
        }

        synchronized void remove(Key key, Kept kept) {
            if (entries.remove(key, kept)) {
                removed(key, kept);
            }
        }

        private void removed(Key key, Kept old) {
            if (old != null) {
                bytes -= old.bytes();
                counts.of(key.procedure()).add(-1, -old.bytes());
            }
        }
    }
}
