package io.sidecypher.core;

import java.io.IOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.nio.file.attribute.UserPrincipal;
import jdk.net.ExtendedSocketOptions;

/** A unix socket of this machine; the kernel says which account listens on it. */
final class UnixWire implements Wire {
    private static final int BUFFER_BYTES = 64 * 1024;

    private final SocketChannel channel;
    private final ByteBuffer read = ByteBuffer.allocateDirect(BUFFER_BYTES);
    private final ByteBuffer written = ByteBuffer.allocateDirect(BUFFER_BYTES);

    UnixWire() throws IOException {
        channel = SocketChannel.open(StandardProtocolFamily.UNIX);
    }

    /**
     * Connects to a socket.
     *
     * @param owner the account that must listen on it
     */
    void connect(String path, UserPrincipal owner) throws IOException {
        channel.connect(UnixDomainSocketAddress.of(path));
        UserPrincipal peer = channel.getOption(ExtendedSocketOptions.SO_PEERCRED).user();
        if (!peer.equals(owner)) {
            throw WireFailure.unavailable("its socket belongs to another account than the run folder");
        }
    }

    @Override
    public int read(byte[] into) throws IOException {
        read.clear().limit(Math.min(into.length, BUFFER_BYTES));
        int size = channel.read(read);
        if (size > 0) {
            read.flip().get(into, 0, size);
        }
        return size;
    }

    @Override
    public void write(byte[] bytes) throws IOException {
        for (int start = 0; start < bytes.length; start += BUFFER_BYTES) {
            written.clear().put(bytes, start, Math.min(BUFFER_BYTES, bytes.length - start)).flip();
            while (written.hasRemaining()) {
                channel.write(written);
            }
        }
    }

    @Override
    public void close() {
        try {
            channel.close();
        } catch (IOException alreadyBroken) {
            // It is closed anyway.
        }
    }
}
