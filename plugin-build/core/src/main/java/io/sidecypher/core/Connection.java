package io.sidecypher.core;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import py4j.Protocol;

/**
 * One connection to the sidecar, which speaks Py4J's protocol.
 *
 * <p>Of that protocol it accepts only replies and, while a call waits, callbacks. It has no gateway,
 * and the peer cannot reach an object or another command.
 */
final class Connection {
    private static final String TEXT_REPLY = "ys";

    private final Wire wire;
    private final LineReader lines;
    private final String token;
    private boolean takesFailures;
    private volatile boolean closed;
    private Call call;

    Connection(Wire wire, String token, int maxLineBytes) {
        this.wire = wire;
        this.token = token;
        lines = new LineReader(wire::read, maxLineBytes);
    }

    /** Sends the token; the peer was verified before. */
    void start() throws IOException {
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

    /** Sends a command, answers the callbacks of its call, and returns the reply. */
    String ask(String command) {
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

    void shutdown() {
        closed = true;
        wire.close();
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
        wire.write(text.getBytes(StandardCharsets.UTF_8));
    }

    private static WireFailure lost() {
        return new WireFailure(WireFailure.Kind.LOST, "the connection ended before the answer");
    }
}
