package io.sidecypher.core;

import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/** A thread that checks all timed operations many times a second. */
final class Watchdog implements Runnable {
    /** An operation with a time limit that the watchdog enforces; a tick must not block. */
    interface Watched {
        void tick(long now);
    }

    private static final long PERIOD = TimeUnit.MILLISECONDS.toNanos(20);
    private static final int IDLE_PERIODS_BEFORE_PARKING = 50;

    private final Set<Watched> active = ConcurrentHashMap.newKeySet();
    private final Thread thread = new Thread(this, "sidecypher-watchdog");
    private volatile boolean parked;

    Watchdog() {
        thread.setDaemon(true);
        thread.start();
    }

    void add(Watched watched) {
        active.add(watched);
        // Waking a thread costs as much as a small call, so it parks only after an idle second.
        if (parked) {
            LockSupport.unpark(thread);
        }
    }

    void remove(Watched watched) {
        active.remove(watched);
    }

    @Override
    public void run() {
        int idlePeriods = 0;
        while (true) {
            idlePeriods = active.isEmpty() ? idlePeriods + 1 : 0;
            if (idlePeriods > IDLE_PERIODS_BEFORE_PARKING) {
                parked = true;
                if (active.isEmpty()) {
                    LockSupport.park(this);
                }
                parked = false;
                idlePeriods = 0;
            } else {
                LockSupport.parkNanos(this, PERIOD);
            }
            long now = System.nanoTime();
            for (Watched watched : active) {
                tick(watched, now);
            }
        }
    }

    private static void tick(Watched watched, long now) {
        try {
            watched.tick(now);
        } catch (Throwable broken) {
            // After any failure of one operation, also an Error, the others are still checked.
        }
    }
}
