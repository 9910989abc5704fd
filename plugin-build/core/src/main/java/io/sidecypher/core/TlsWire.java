package io.sidecypher.core;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.StandardSocketOptions;
import java.security.cert.CertificateException;
import javax.net.ssl.SSLHandshakeException;
import javax.net.ssl.SSLSocket;
import jdk.net.ExtendedSocketOptions;

/** TLS to a port, with the certificate that the run folder names. */
final class TlsWire implements Wire {
    private static final int SILENCE_SECONDS = 30;
    private static final int PROBE_SECONDS = 10;
    private static final int PROBES = 3;

    private final Socket plain;
    private InputStream in;
    private OutputStream out;

    /** Connects to the port, without a handshake. */
    TlsWire(InetSocketAddress address, int millis) throws IOException {
        plain = new Socket();
        try {
            // Without NODELAY a call over 8 KiB takes 44 ms.
            plain.setOption(StandardSocketOptions.TCP_NODELAY, true);
            // A machine that loses its power or its network closes no connection.
            plain.setOption(StandardSocketOptions.SO_KEEPALIVE, true);
            plain.setOption(ExtendedSocketOptions.TCP_KEEPIDLE, SILENCE_SECONDS);
            plain.setOption(ExtendedSocketOptions.TCP_KEEPINTERVAL, PROBE_SECONDS);
            plain.setOption(ExtendedSocketOptions.TCP_KEEPCOUNT, PROBES);
            plain.connect(address, millis);
        } catch (IOException failed) {
            close();
            throw failed;
        }
    }

    /** Shakes hands and verifies the certificate. */
    void secure(PinnedTls tls, Rendezvous rendezvous) throws IOException {
        try {
            SSLSocket secured = tls.handshake(plain, rendezvous.host(), rendezvous.port());
            in = secured.getInputStream();
            out = secured.getOutputStream();
        } catch (SSLHandshakeException failed) {
            if (failed.getCause() instanceof CertificateException) {
                throw WireFailure.unavailable("the certificate on the sidecar's port is not the sidecar's");
            }
            throw failed;
        }
    }

    @Override
    public int read(byte[] into) throws IOException {
        return in.read(into, 0, into.length);
    }

    @Override
    public void write(byte[] bytes) throws IOException {
        out.write(bytes);
        out.flush();
    }

    @Override
    public void close() {
        try {
            // Closing the TLS socket would not end a blocked read or write.
            plain.close();
        } catch (IOException alreadyBroken) {
            // It is closed anyway.
        }
    }
}
