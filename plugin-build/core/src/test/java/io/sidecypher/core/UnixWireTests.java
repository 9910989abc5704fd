package io.sidecypher.core;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.AsynchronousCloseException;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.UserPrincipal;
import java.util.Arrays;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class UnixWireTests {
    private Path path;
    private ServerSocketChannel server;
    private UserPrincipal owner;

    @BeforeEach
    void listen() throws IOException {
        path = Files.createTempDirectory("wire").resolve("s");
        server = ServerSocketChannel.open(StandardProtocolFamily.UNIX);
        server.bind(UnixDomainSocketAddress.of(path));
        owner = Files.getOwner(path);
    }

    @AfterEach
    void stop() throws IOException {
        server.close();
        Files.deleteIfExists(path);
        Files.delete(path.getParent());
    }

    @Test
    void bytesOfAnyNumberComeBackAsTheyWere() throws Exception {
        UnixWire wire = new UnixWire();
        wire.connect(path.toString(), owner);
        try (SocketChannel peer = server.accept()) {
            byte[] sent = new byte[300_000];
            new Random(4).nextBytes(sent);
            CompletableFuture<Void> echo = CompletableFuture.runAsync(() -> echo(peer, sent.length));
            CompletableFuture<byte[]> back = CompletableFuture.supplyAsync(() -> read(wire, sent.length));
            wire.write(sent);
            assertArrayEquals(sent, back.get(20, TimeUnit.SECONDS));
            echo.get(20, TimeUnit.SECONDS);
        }
        assertEquals(-1, wire.read(new byte[10]));
        wire.close();
    }

    @Test
    void aSocketOfAnotherAccountIsRefused() throws Exception {
        UserPrincipal another = path.getFileSystem().getUserPrincipalLookupService().lookupPrincipalByName("nobody");
        UnixWire wire = new UnixWire();
        WireFailure refused = assertThrows(WireFailure.class, () -> wire.connect(path.toString(), another));
        assertTrue(refused.getMessage().contains("another account"));
        wire.close();
    }

    @Test
    void closingEndsABlockedRead() throws Exception {
        UnixWire wire = new UnixWire();
        wire.connect(path.toString(), owner);
        CompletableFuture<Throwable> ended = CompletableFuture.supplyAsync(
                () -> assertThrows(AsynchronousCloseException.class, () -> wire.read(new byte[10])));
        while (!ended.isDone() && Thread.getAllStackTraces().values().stream()
                .noneMatch(stack -> Arrays.toString(stack).contains("UnixWire.read"))) {
            Thread.onSpinWait();
        }
        wire.close();
        ended.get(20, TimeUnit.SECONDS);
    }

    private static void echo(SocketChannel peer, int bytes) {
        ByteBuffer buffer = ByteBuffer.allocate(bytes);
        try {
            while (buffer.hasRemaining()) {
                peer.read(buffer);
            }
            buffer.flip();
            while (buffer.hasRemaining()) {
                peer.write(buffer);
            }
        } catch (IOException broken) {
            throw new AssertionError(broken);
        }
    }

    private static byte[] read(UnixWire wire, int bytes) {
        byte[] all = new byte[bytes];
        byte[] some = new byte[16 * 1024];
        try {
            for (int size = 0; size < bytes; ) {
                int read = wire.read(some);
                System.arraycopy(some, 0, all, size, read);
                size += read;
            }
        } catch (IOException broken) {
            throw new AssertionError(broken);
        }
        return all;
    }
}
