package io.sidecypher.core;

import java.io.IOException;
import java.io.OutputStream;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.List;
import javax.net.ssl.SSLSocket;
import py4j.ClientServerConnection;
import py4j.Gateway;
import py4j.Protocol;
import py4j.commands.Command;

/**
 * One Py4J connection to the sidecar, over TLS.
 *
 * <p>Of Py4J's protocol it accepts only replies and, while a call waits, callbacks. It has no gateway,
 * and the peer cannot reach an object or another command.
 */
final class Connection extends ClientServerConnection {
    private static final String TEXT_REPLY = "ys";

    private final Socket plain;
    private final OutputStream out;
    private final LineReader lines;
    private final String token;
    private boolean takesFailures;
    private volatile boolean closed;
    private Call call;

    /**
     * @param plain the socket under TLS; closing it ends a blocked read or write at once, while closing
     *     the TLS socket does not
     */
    Connection(Socket plain, SSLSocket tls, String token, int maxLineBytes) throws IOException {
        super(null, tls, null, null, null, 0);
        this.plain = plain;
        this.token = token;
        out = tls.getOutputStream();
        lines = new LineReader(tls.getInputStream(), maxLineBytes);
        setInitiatedFromClient(true);
    }

    @Override
    protected void initCommands(Gateway gateway, List<Class<? extends Command>> commands) {
        // Py4J's commands must not reach this JVM.
    }

    /** Sends the token; the certificate was verified before. */
    @Override
    public void start() throws IOException {
        write(Protocol.AUTH_COMMAND_NAME + "\n" + token + "\n");
        if (!Protocol.getOutputVoidCommand().strip().equals(lines.readLine())) {
            throw WireFailure.unavailable("the sidecar refused the token of the run folder");
        }
    }

    /** Sets whether the sidecar accepts counts of failures. */
    void takesFailures(boolean wanted) {
        takesFailures = wanted;
    }

    boolean takesFailures() {
        return takesFailures;
    }

    /** Sets the call that callbacks belong to, or null. */
    void serve(Call served) {
        call = served;
    }

    @Override
    public String sendCommand(String command, boolean blocking) {
        send(command);
        try {
            while (true) {
                String line = lines.readLine();
                if (line == null) {
                    throw lost();
                }
                if (Protocol.isReturnMessage(line)) {
                    return line.substring(1);
                }
                answer(line);
            }
        } catch (IOException broken) {
            throw lost();
        }
    }

    /** Sends a command without reading its reply. */
    void send(String command) {
        try {
            write(command);
        } catch (IOException broken) {
            throw new WireFailure(WireFailure.Kind.NOT_SENT, "the connection broke before the request was sent");
        }
    }

    /** Returns the next line, or null if the peer is gone. */
    String receive() {
        try {
            return lines.readLine();
        } catch (IOException broken) {
            return null;
        }
    }

    /** Returns the JSON text in a reply of Py4J's protocol. */
    static String text(String reply) {
        if (!reply.startsWith(TEXT_REPLY)) {
            throw new WireFailure(WireFailure.Kind.PROTOCOL, "it is not a text");
        }
        return reply.substring(TEXT_REPLY.length()).replace(Requests.BACKSLASH, '\\');
    }

    boolean isClosed() {
        return closed;
    }

    @Override
    public void shutdown(boolean reset) {
        closed = true;
        try {
            plain.close();
        } catch (IOException alreadyBroken) {
            // It is closed anyway.
        }
    }

    private void answer(String first) throws IOException {
        boolean served = call != null && call.allowsCallbacks() && first.equals("c") && "t".equals(lines.readLine());
        String method = served ? lines.readLine() : null;
        String text = method != null && Callbacks.METHODS.contains(method) ? lines.readLine() : null;
        if (text == null || !text.startsWith("s") || !"e".equals(lines.readLine())) {
            write("!xsrefused\n");
            throw new WireFailure(WireFailure.Kind.PROTOCOL, "the sidecar sent a command that is refused");
        }
        String reply = call.callbacks().answer(method, text.substring(1).replace(Requests.BACKSLASH, '\\'));
        write("!" + TEXT_REPLY + reply.replace('\\', Requests.BACKSLASH) + "\n");
    }

    private void write(String text) throws IOException {
        out.write(text.getBytes(StandardCharsets.UTF_8));
        out.flush();
    }

    private static WireFailure lost() {
        return new WireFailure(WireFailure.Kind.LOST, "the connection ended before the answer");
    }
}
