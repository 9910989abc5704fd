package io.sidecypher.core;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.UUID;
import java.util.regex.Pattern;

/** The first message on every connection, with the identity of this JVM and its catalogue. */
final class Hello {
    private static final String JVM = UUID.randomUUID().toString();
    private static final String CATALOGUE = catalogueInJar();

    private Hello() {}

    static String jvm() {
        return JVM;
    }

    static String request(String role) {
        return Requests.hello(JVM, role, CATALOGUE);
    }

    /**
     * Checks that the reply to a hello accepts this plugin and comes from the expected run of the sidecar.
     *
     * @param generation the expected run; empty for any
     * @return whether the sidecar accepts counts of failures; older versions do not
     */
    static boolean check(String reply, String generation) {
        Map<String, Object> members = Json.parseObject(reply);
        if (members == null) {
            throw WireFailure.unavailable("the sidecar's greeting is not valid JSON");
        }
        if (!Long.valueOf(Requests.VERSION).equals(members.get("v"))) {
            throw WireFailure.unavailable("the sidecar does not speak version " + Requests.VERSION
                    + " of the protocol, which this plugin speaks; build the plugin again with the sidecar's `sidecypher` and restart Neo4j");
        }
        if (Boolean.TRUE.equals(members.get("busy"))) {
            throw new WireFailure(WireFailure.Kind.BUSY, "the sidecar has as many connections as it takes");
        }
        if (members.get("error") instanceof Map<?, ?> error) {
            throw WireFailure.unavailable("the sidecar refused this plugin"
                    + (error.get("message") instanceof String message ? ": " + message : ""));
        }
        if (!generation.isEmpty() && !generation.equals(members.get("sidecar"))) {
            throw WireFailure.unavailable("another sidecar answered than the one the run folder names");
        }
        return Boolean.TRUE.equals(members.get("failures"));
    }

    private static String catalogueInJar() {
        try (InputStream in = Hello.class.getResourceAsStream("/META-INF/sidecypher/catalogue.json")) {
            Map<String, Object> catalogue =
                    in == null ? null : Json.parseObject(new String(in.readAllBytes(), StandardCharsets.UTF_8));
            return catalogue != null
                            && catalogue.get("hash") instanceof String hash
                            && Pattern.matches("[0-9a-f]{0,64}", hash)
                    ? hash
                    : "";
        } catch (IOException unreadable) {
            return "";
        }
    }
}
