package io.sidecypher.core;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.UserPrincipal;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.regex.Pattern;

/**
 * Address and credentials of one sidecar, as it wrote them into the run folder.
 *
 * @param generation the identity of its start; empty for one on another machine, which may start again
 * @param identity this plugin's own certificate; null if the sidecar needs none
 */
record Rendezvous(
        String generation,
        String host,
        int port,
        String fingerprint,
        String token,
        String socket,
        UserPrincipal owner,
        PluginIdentity identity) {
    static final String FILE = "sidecar.json";
    /** The file also lists modules that could not be loaded, so it can be large. */
    private static final int MOST_BYTES = 4 * 1024 * 1024;
    private static final Pattern FINGERPRINT = Pattern.compile("[0-9a-f]{64}");
    private static final Pattern TOKEN = Pattern.compile("[!-~]{16,512}");

    /** Reads the sidecars of a run folder, in the order of their starts; it may list killed ones. */
    static List<Rendezvous> read(Path runDir) {
        if (runDir == null) {
            throw WireFailure.unavailable("no run folder is set (SIDECYPHER_RUN_DIR, or run_dir in sidecypher.conf)");
        }
        if (!Files.exists(runDir.resolve(FILE))) {
            throw WireFailure.unavailable("no sidecar has left its address in the run folder");
        }
        Map<String, Object> file = Json.parseObject(readSmall(runDir.resolve(FILE)));
        if (file == null) {
            throw WireFailure.unavailable("sidecar.json in the run folder is not JSON");
        }
        String token = readSmall(runDir.resolve("token")).strip();
        if (!Long.valueOf(2).equals(file.get("v"))) {
            throw WireFailure.unavailable("sidecar.json in the run folder is of another version");
        }
        if (file.get("fingerprint") instanceof String fingerprint
                && FINGERPRINT.matcher(fingerprint.toLowerCase(Locale.ROOT)).matches()
                && file.get("sidecars") instanceof List<?> sidecars
                && !sidecars.isEmpty()
                && TOKEN.matcher(token).matches()) {
            String lower = fingerprint.toLowerCase(Locale.ROOT);
            UserPrincipal owner = ownerOf(runDir);
            PluginIdentity identity = PluginIdentity.read(runDir);
            return sidecars.stream().map(sidecar -> of(sidecar, lower, token, owner, identity)).toList();
        }
        throw malformed();
    }

    private static Rendezvous of(
            Object sidecar, String fingerprint, String token, UserPrincipal owner, PluginIdentity identity) {
        if (sidecar instanceof Map<?, ?> members
                && members.get("generation") instanceof String generation
                && members.get("host") instanceof String host
                && members.get("port") instanceof Long port
                && port > 0
                && port < 65536) {
            String socket = members.get("socket") instanceof String path ? path : "";
            return new Rendezvous(generation, host, port.intValue(), fingerprint, token, socket, owner, identity);
        }
        throw malformed();
    }

    /** Returns whether this machine has the sidecar's unix socket. */
    boolean hasSocket() {
        return !socket.isEmpty() && Files.exists(Path.of(socket));
    }

    /** Leaves out the token, which a record would print. */
    @Override
    public String toString() {
        return "Rendezvous of generation " + generation;
    }

    private static UserPrincipal ownerOf(Path folder) {
        try {
            return Files.getOwner(folder);
        } catch (IOException unreadable) {
            throw WireFailure.unavailable("the owner of the run folder cannot be read");
        }
    }

    private static String readSmall(Path file) {
        try (InputStream in = Files.newInputStream(file)) {
            return new String(in.readNBytes(MOST_BYTES), StandardCharsets.UTF_8);
        } catch (IOException unreadable) {
            throw WireFailure.unavailable(file.getFileName() + " in the run folder cannot be read");
        }
    }

    private static WireFailure malformed() {
        return WireFailure.unavailable("sidecar.json or the token in the run folder is malformed");
    }
}
