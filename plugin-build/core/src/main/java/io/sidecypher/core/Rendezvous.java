package io.sidecypher.core;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.regex.Pattern;

/**
 * Where the sidecar that runs now is found and how it is recognised, as it wrote it into the run folder.
 *
 * <p>Only the first endpoint is used: one sidecar process has one.
 */
record Rendezvous(String generation, String host, int port, String fingerprint, String token) {
    private static final int MOST_BYTES = 64 * 1024;
    private static final Pattern FINGERPRINT = Pattern.compile("[0-9a-f]{64}");
    private static final Pattern TOKEN = Pattern.compile("[!-~]{16,512}");

    static Rendezvous read(Path runDir) {
        if (runDir == null) {
            throw refused("no run folder is set (SIDECYPHER_RUN_DIR, or run_dir in sidecypher.conf)");
        }
        if (!Files.exists(runDir.resolve("sidecar.json"))) {
            throw refused("no sidecar has left its address in the run folder");
        }
        Map<String, Object> sidecar = readJson(readSmall(runDir.resolve("sidecar.json")));
        String token = readSmall(runDir.resolve("token")).strip();
        if (!Long.valueOf(1).equals(sidecar.get("v"))) {
            throw refused("sidecar.json in the run folder is of another version");
        }
        if (sidecar.get("generation") instanceof String generation
                && sidecar.get("fingerprint") instanceof String fingerprint
                && FINGERPRINT.matcher(fingerprint.toLowerCase(Locale.ROOT)).matches()
                && sidecar.get("endpoints") instanceof List<?> endpoints
                && !endpoints.isEmpty()
                && endpoints.get(0) instanceof Map<?, ?> endpoint
                && endpoint.get("host") instanceof String host
                && endpoint.get("port") instanceof Long port
                && port > 0
                && port < 65536
                && TOKEN.matcher(token).matches()) {
            return new Rendezvous(
                    generation, host, port.intValue(), fingerprint.toLowerCase(Locale.ROOT), token);
        }
        throw refused("sidecar.json or the token in the run folder is not as it must be");
    }

    /** Records print their members; this one holds the token. */
    @Override
    public String toString() {
        return "Rendezvous of generation " + generation;
    }

    private static Map<String, Object> readJson(String text) {
        try (JsonParser json = Json.FACTORY.createParser(text)) {
            if (json.nextToken() == JsonToken.START_OBJECT) {
                return ValueReader.readMap(json);
            }
        } catch (IOException | ValueProblem malformed) {
            // Told below.
        }
        throw refused("sidecar.json in the run folder is not JSON");
    }

    private static String readSmall(Path file) {
        try (InputStream in = Files.newInputStream(file)) {
            return new String(in.readNBytes(MOST_BYTES), StandardCharsets.UTF_8);
        } catch (IOException unreadable) {
            throw refused(file.getFileName() + " in the run folder cannot be read");
        }
    }

    private static WireFailure refused(String reason) {
        return new WireFailure(WireFailure.Kind.UNAVAILABLE, reason);
    }
}
