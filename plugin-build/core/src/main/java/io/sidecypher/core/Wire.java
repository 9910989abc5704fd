package io.sidecypher.core;

import java.io.IOException;

/** The bytes of one connection to a sidecar; one thread reads while another may write. */
interface Wire {
    /** Reads some bytes into an array; returns how many, or -1 at the end. */
    int read(byte[] into) throws IOException;

    void write(byte[] bytes) throws IOException;

    /** Ends a blocked read or write at once, and never waits. */
    void close();
}
