package io.sidecypher.core;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

class TlsWireTests {
    private static final String KEEP_ALIVE = "02";
    private static final int TICKS_OF_A_SECOND = 100;

    /** A machine that loses its power or its network closes no connection. */
    @Test
    void tcpProbesASidecarThatIsSilentForHalfAMinute() throws IOException {
        InetAddress loopback = InetAddress.getLoopbackAddress();
        try (ServerSocket server = new ServerSocket(0, 1, loopback)) {
            TlsWire wire = new TlsWire(new InetSocketAddress(loopback, server.getLocalPort()), 5000);
            try (Socket peer = server.accept()) {
                String[] timer = timer(peer.getPort(), server.getLocalPort()).split(":");
                assertEquals(KEEP_ALIVE, timer[0]);
                assertTrue(Integer.parseInt(timer[1], 16) <= 30 * TICKS_OF_A_SECOND, timer[1]);
            }
            wire.close();
        }
    }

    /** Returns the kernel's timer of a connection, as {@code proc(5)} describes it: its kind, and when it fires. */
    private static String timer(int local, int remote) throws IOException {
        String ports = String.format(".*:%04X", local) + String.format(" .*:%04X", remote);
        return Stream.concat(
                        Files.readAllLines(Path.of("/proc/self/net/tcp")).stream(),
                        Files.readAllLines(Path.of("/proc/self/net/tcp6")).stream())
                .map(line -> line.strip().split(" +"))
                .filter(fields -> (fields[1] + " " + fields[2]).matches(ports))
                .map(fields -> fields[5])
                .findFirst()
                .orElseThrow();
    }
}
