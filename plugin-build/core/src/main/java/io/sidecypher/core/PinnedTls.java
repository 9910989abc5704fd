package io.sidecypher.core;

import java.io.IOException;
import java.net.Socket;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.security.cert.CertificateException;
import java.security.cert.X509Certificate;
import java.util.HexFormat;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.SSLSocket;
import javax.net.ssl.TrustManager;
import javax.net.ssl.X509ExtendedTrustManager;

/** TLS that accepts only the certificate with the run folder's fingerprint, whatever its issuer. */
final class PinnedTls {
    private static final String[] PROTOCOLS = {"TLSv1.3", "TLSv1.2"};

    private final SSLContext context;

    PinnedTls(Rendezvous rendezvous) {
        PluginIdentity identity = rendezvous.identity();
        try {
            context = SSLContext.getInstance("TLS");
            context.init(
                    identity == null ? null : identity.keyManagers(),
                    new TrustManager[] {new Pin(HexFormat.of().parseHex(rendezvous.fingerprint()))},
                    null);
        } catch (GeneralSecurityException missing) {
            throw new IllegalStateException("this Java has no TLS", missing);
        }
    }

    /** Starts TLS on a connected socket and verifies the peer's certificate. */
    SSLSocket handshake(Socket plain, String host, int port) throws IOException {
        SSLSocket tls = (SSLSocket) context.getSocketFactory().createSocket(plain, host, port, true);
        tls.setEnabledProtocols(PROTOCOLS);
        tls.startHandshake();
        return tls;
    }

    private static final class Pin extends X509ExtendedTrustManager {
        private final byte[] expected;

        Pin(byte[] expected) {
            this.expected = expected;
        }

        private void check(X509Certificate[] chain) throws CertificateException {
            try {
                byte[] actual = MessageDigest.getInstance("SHA-256").digest(chain[0].getEncoded());
                if (MessageDigest.isEqual(expected, actual)) {
                    return;
                }
            } catch (GeneralSecurityException unreadable) {
                // Refused below.
            }
            throw new CertificateException("the certificate is not the sidecar's");
        }

        @Override
        public void checkServerTrusted(X509Certificate[] chain, String type) throws CertificateException {
            check(chain);
        }

        @Override
        public void checkServerTrusted(X509Certificate[] chain, String type, Socket socket)
                throws CertificateException {
            check(chain);
        }

        @Override
        public void checkServerTrusted(X509Certificate[] chain, String type, SSLEngine engine)
                throws CertificateException {
            check(chain);
        }

        @Override
        public void checkClientTrusted(X509Certificate[] chain, String type) throws CertificateException {
            throw new CertificateException("there are no clients");
        }

        @Override
        public void checkClientTrusted(X509Certificate[] chain, String type, Socket socket)
                throws CertificateException {
            throw new CertificateException("there are no clients");
        }

        @Override
        public void checkClientTrusted(X509Certificate[] chain, String type, SSLEngine engine)
                throws CertificateException {
            throw new CertificateException("there are no clients");
        }

        @Override
        public X509Certificate[] getAcceptedIssuers() {
            return new X509Certificate[0];
        }
    }
}
