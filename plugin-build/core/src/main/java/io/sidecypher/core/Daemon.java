package io.sidecypher.core;

/** Daemon threads: they do not keep the JVM running. */
final class Daemon {
    private Daemon() {}

    static void start(String name, Runnable task) {
        Thread thread = new Thread(task, name);
        thread.setDaemon(true);
        thread.start();
    }
}
