package io.sidecypher.core;

/** Threads that keep no JVM from ending. */
final class Daemon {
    private Daemon() {}

    static void start(String name, Runnable body) {
        Thread thread = new Thread(body, name);
        thread.setDaemon(true);
        thread.start();
    }
}
