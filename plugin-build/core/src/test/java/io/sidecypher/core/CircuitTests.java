package io.sidecypher.core;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

/** A circuit keeps callers away after a failure, and lets one of them try now and then. */
class CircuitTests {
    private final AtomicLong now = new AtomicLong(-50);
    private final Circuit circuit = new Circuit(100, 1000, now::get);

    @Test
    void closedItAdmitsEverybody() {
        assertTrue(circuit.admits() && circuit.admits() && circuit.isClosed());
    }

    @Test
    void openItAdmitsNobodyForAWhileAndThenOnlyOne() {
        circuit.open();
        now.addAndGet(99);
        assertFalse(circuit.admits() || circuit.isClosed());
        now.addAndGet(1);
        assertTrue(circuit.admits());
        assertFalse(circuit.admits() || circuit.isClosed());
    }

    @Test
    void whoTriesInVainOpensItAgain() {
        circuit.open();
        now.addAndGet(100);
        assertTrue(circuit.admits());
        circuit.open();
        assertFalse(circuit.admits());
        now.addAndGet(100);
        assertTrue(circuit.admits());
    }

    @Test
    void whoTriesWithSuccessClosesIt() {
        circuit.open();
        now.addAndGet(100);
        assertTrue(circuit.admits());
        circuit.close();
        assertTrue(circuit.admits() && circuit.admits());
    }

    @Test
    void whoTriesAndIsNeverHeardOfAgainIsReplaced() {
        circuit.open();
        now.addAndGet(100);
        assertTrue(circuit.admits());
        now.addAndGet(1000);
        assertTrue(circuit.admits());
        assertFalse(circuit.admits());
    }
}
