package io.sidecypher.core;

import java.io.BufferedReader;
import java.io.Closeable;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.Channels;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.security.MessageDigest;
import java.security.cert.Certificate;
import java.security.cert.CertificateException;
import java.security.cert.X509Certificate;
import java.util.Base64;
import java.util.HexFormat;
import java.util.List;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLSocket;
import javax.net.ssl.TrustManager;
import javax.net.ssl.X509TrustManager;

/**
 * A sidecar in this JVM: real sockets, and answers that each test writes itself.
 *
 * <p>It is reached by TLS, or with {@code -Dsidecypher.listener=unix} by its unix socket.
 */
final class FakeSidecar implements AutoCloseable {
    private static final boolean UNIX = "unix".equals(System.getProperty("sidecypher.listener"));
    static final String TOKEN = "0123456789abcdef0123456789abcdef";

    /** Answers one request of a call connection. */
    interface Script {
        void answer(Peer peer, String method, String json) throws IOException;
    }

    /** Answers {@code test.echo} with a row, so that a test can connect before its time counts. */
    static Script echoOr(Script script) {
        return (peer, method, json) -> {
            if (member(json, "name").equals("test.echo")) {
                peer.rows(json, "[[1]]", false);
            } else {
                script.answer(peer, method, json);
            }
        };
    }

    /** One accepted connection, on which the token comes next. */
    final class Peer {
        final Closeable socket;
        private final BufferedReader in;
        private final OutputStream out;

        Peer(Closeable socket, InputStream in, OutputStream out) {
            this.socket = socket;
            this.in = new BufferedReader(new InputStreamReader(in, StandardCharsets.UTF_8));
            this.out = out;
        }

        String line() throws IOException {
            String line = in.readLine();
            if (line == null) {
                throw new IOException("Java closed the connection");
            }
            return line;
        }

        void raw(String text) throws IOException {
            raw(text.getBytes(StandardCharsets.UTF_8));
        }

        void raw(byte[] bytes) throws IOException {
            out.write(bytes);
            out.flush();
        }

        void reply(String json) throws IOException {
            raw("!ys" + json.replace('\\', '\u001a') + "\n");
        }

        void rows(String json, String rows, boolean more) throws IOException {
            reply("{\"id\":\"" + id(json) + "\",\"rows\":" + rows + ",\"more\":" + more + "}");
        }

        /** Sends a callback and returns Java's answer. */
        String run(String json, String cypher, String params) throws IOException {
            return run(json, 1, cypher, params);
        }

        String run(String json, long cursor, String cypher, String params) throws IOException {
            return callback("run", "{\"id\":\"" + id(json) + "\",\"cursor\":" + cursor + ",\"cypher\":\"" + cypher
                    + "\",\"params\":" + params + "}");
        }

        /** Sends {@code next} or {@code discard} and returns Java's answer. */
        String cursor(String json, String method, long cursor) throws IOException {
            return callback(method, "{\"id\":\"" + id(json) + "\",\"cursor\":" + cursor + "}");
        }

        String callback(String method, String request) throws IOException {
            raw("c\nt\n" + method + "\ns" + request.replace('\\', '\u001a') + "\ne\n");
            return line().substring(3).replace('\u001a', '\\');
        }
    }

    private static final class Identity {
        static final KeyStore STORE = make();

        private static KeyStore make() {
            try {
                Path folder = Files.createTempDirectory("fake-sidecar");
                Path file = folder.resolve("key.p12");
                Process keytool = new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "keytool").toString(),
                        "-genkeypair", "-alias", "key", "-keyalg", "EC", "-groupname", "secp256r1",
                        "-dname", "CN=sidecar", "-storetype", "PKCS12", "-keystore", file.toString(),
                        "-storepass", "changeit", "-validity", "2").redirectErrorStream(true).start();
                keytool.getInputStream().readAllBytes();
                if (keytool.waitFor() != 0) {
                    throw new IllegalStateException("keytool failed");
                }
                KeyStore store = KeyStore.getInstance("PKCS12");
                try (InputStream in = Files.newInputStream(file)) {
                    store.load(in, "changeit".toCharArray());
                }
                Files.delete(file);
                Files.delete(folder);
                return store;
            } catch (Exception failed) {
                throw new IllegalStateException(failed);
            }
        }
    }

    /** Accepts every certificate of a plugin, and notes its fingerprint. */
    private final class AnyPeer implements X509TrustManager {
        @Override
        public void checkClientTrusted(X509Certificate[] chain, String type) throws CertificateException {
            peers.add(fingerprintOf(chain[0]));
        }

        @Override
        public void checkServerTrusted(X509Certificate[] chain, String type) throws CertificateException {
            throw new CertificateException("it is no client");
        }

        @Override
        public X509Certificate[] getAcceptedIssuers() {
            return new X509Certificate[0];
        }
    }

    final String generation = UUID.randomUUID().toString();
    final List<String> methods = new CopyOnWriteArrayList<>();
    final List<String> controlRequests = new CopyOnWriteArrayList<>();
    volatile long version = Requests.VERSION;
    volatile boolean takesFailures;
    volatile boolean isFull;
    volatile boolean wantsIdentity;
    final Set<String> peers = ConcurrentHashMap.newKeySet();
    final AtomicInteger tokensSeen = new AtomicInteger();
    final AtomicInteger callConnections = new AtomicInteger();
    final Set<Closeable> open = ConcurrentHashMap.newKeySet();
    private final ServerSocket server;
    private final ServerSocketChannel unix;
    private final Path path = Files.createTempDirectory("fake-sidecar").resolve("s");
    private final SSLContext tls;
    private final Script script;

    FakeSidecar(Script script) throws Exception {
        this.script = script;
        KeyManagerFactory keys = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
        keys.init(Identity.STORE, "changeit".toCharArray());
        tls = SSLContext.getInstance("TLS");
        tls.init(keys.getKeyManagers(), new TrustManager[] {new AnyPeer()}, null);
        server = new ServerSocket(0, 128, InetAddress.getLoopbackAddress());
        unix = ServerSocketChannel.open(StandardProtocolFamily.UNIX);
        unix.bind(UnixDomainSocketAddress.of(path));
        start(this::accept);
        start(this::acceptUnix);
    }

    int port() {
        return server.getLocalPort();
    }

    /** Leaves address, fingerprint and token in a run folder, as a sidecar does when it is ready. */
    FakeSidecar announce(Path runDir) throws Exception {
        announce(runDir, fingerprint(), TOKEN);
        return this;
    }

    void announce(Path runDir, String fingerprint, String token) throws IOException {
        write(runDir, fingerprint, token, entry(port()));
    }

    /** Leaves the addresses of several sidecars in a run folder. */
    static void announceAll(Path runDir, FakeSidecar... sidecars) throws Exception {
        String[] entries = Stream.of(sidecars).map(each -> each.entry(each.port())).toArray(String[]::new);
        write(runDir, fingerprint(), TOKEN, entries);
    }

    /** What a sidecar file says of this one, at any port. */
    String entry(int port) {
        return entry(port, UNIX && port == port() ? ",\"socket\":\"" + path + "\"" : "");
    }

    /** What a sidecar file says of one that is reached by TLS only. */
    String entryWithoutSocket() {
        return entry(port(), "");
    }

    private String entry(int port, String socket) {
        return "{\"generation\":\"" + generation + "\",\"pid\":1,\"host\":\"127.0.0.1\",\"port\":" + port + socket
                + "}";
    }

    static void write(Path runDir, String fingerprint, String token, String... entries) throws IOException {
        Files.writeString(runDir.resolve("token"), token + "\n");
        Path draft = Files.writeString(runDir.resolve("draft"), "{\"v\":2,\"fingerprint\":\"" + fingerprint
                + "\",\"sidecars\":[" + String.join(",", entries) + "]}");
        Files.move(draft, runDir.resolve("sidecar.json"), StandardCopyOption.ATOMIC_MOVE);
    }

    static String fingerprint() throws Exception {
        return fingerprintOf(Identity.STORE.getCertificate("key"));
    }

    private static String fingerprintOf(Certificate certificate) {
        try {
            return HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(certificate.getEncoded()));
        } catch (GeneralSecurityException impossible) {
            throw new IllegalStateException(impossible);
        }
    }

    /** A key and its certificate, of the sidecar itself, for a plugin that needs some. */
    static String keyPem() throws Exception {
        return pem("PRIVATE KEY", Identity.STORE.getKey("key", "changeit".toCharArray()).getEncoded());
    }

    static String certificatePem() throws Exception {
        return pem("CERTIFICATE", Identity.STORE.getCertificate("key").getEncoded());
    }

    private static String pem(String what, byte[] content) {
        return "-----BEGIN " + what + "-----\n" + Base64.getMimeEncoder().encodeToString(content) + "\n-----END "
                + what + "-----\n";
    }

    static String id(String json) {
        return member(json, "id");
    }

    static String member(String json, String name) {
        Matcher matcher = Pattern.compile("\"" + name + "\":\"([^\"]*)\"").matcher(json);
        return matcher.find() ? matcher.group(1) : "";
    }

    /** Ends like a killed process: every socket at once. */
    @Override
    public void close() throws IOException {
        server.close();
        unix.close();
        for (Closeable socket : open) {
            socket.close();
        }
        Files.deleteIfExists(path);
        Files.deleteIfExists(path.getParent());
    }

    private void accept() {
        while (!server.isClosed()) {
            try {
                Socket plain = server.accept();
                plain.setTcpNoDelay(true);
                open.add(plain);
                start(() -> serve(plain, () -> secured(plain)));
            } catch (IOException closed) {
                return;
            }
        }
    }

    private void acceptUnix() {
        while (unix.isOpen()) {
            try {
                SocketChannel channel = unix.accept();
                open.add(channel);
                start(() -> serve(channel, () -> new Peer(
                        channel, Channels.newInputStream(channel), Channels.newOutputStream(channel))));
            } catch (IOException closed) {
                return;
            }
        }
    }

    private interface Opening {
        Peer open() throws IOException;
    }

    private Peer secured(Socket plain) throws IOException {
        Socket socket = tls.getSocketFactory().createSocket(plain, null, plain.getPort(), true);
        SSLSocket secured = (SSLSocket) socket;
        secured.setUseClientMode(false);
        secured.setNeedClientAuth(wantsIdentity);
        return new Peer(socket, socket.getInputStream(), socket.getOutputStream());
    }

    private void serve(Closeable plain, Opening opening) {
        try (plain) {
            Peer peer = opening.open();
            if (!peer.line().equals("A") || !peer.line().equals(TOKEN)) {
                tokensSeen.incrementAndGet();
                return;
            }
            tokensSeen.incrementAndGet();
            peer.raw("!yv\n");
            String role = "";
            while (true) {
                List<String> head = List.of(peer.line(), peer.line(), peer.line());
                String json = peer.line().substring(1).replace('\u001a', '\\');
                peer.line();
                String method = head.get(2);
                if (method.equals("hello")) {
                    role = member(json, "role");
                    callConnections.addAndGet(role.equals("call") ? 1 : 0);
                    peer.reply("{\"v\":" + version + ",\"sidecar\":\"" + generation
                            + "\",\"catalogue\":\"\"" + (takesFailures ? ",\"failures\":true" : "")
                            + (isFull && role.equals("call") ? ",\"busy\":true,\"error\":{\"code\":\"SC-211\","
                            + "\"message\":\"The sidecar has as many connections as it takes\"}" : "") + "}");
                } else if (role.equals("control")) {
                    controlRequests.add(json);
                    peer.reply("{\"id\":\"" + id(json) + "\"}");
                } else {
                    methods.add(method);
                    script.answer(peer, method, json);
                }
            }
        } catch (IOException | UncheckedIOException ended) {
            // Either side may close a connection at any time.
        } finally {
            open.remove(plain);
        }
    }

    private static void start(Runnable body) {
        Thread thread = new Thread(body, "fake-sidecar");
        thread.setDaemon(true);
        thread.start();
    }
}
