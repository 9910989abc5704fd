package io.sidecypher.core;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import java.io.IOException;
import java.io.InputStream;
import java.util.Map;
import java.util.UUID;
import java.util.regex.Pattern;

/** The first words on every connection: who is here, and with which catalogue. */
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
     * Checks that the reply to a hello comes from the expected run of the sidecar and was a welcome.
     *
     * @return whether the sidecar wants to be told of failures; one of an older version does not know them
     */
    static boolean check(String reply, String generation) {
        Map<String, Object> members = members(reply);
        if (!Long.valueOf(Requests.VERSION).equals(members.get("v"))) {
            throw refused("the sidecar does not speak version " + Requests.VERSION + " of the protocol, which this"
                    + " plugin speaks; build the plugin again with the sidecar's `sidecypher` and restart Neo4j");
        }
        if (Boolean.TRUE.equals(members.get("busy"))) {
            throw new WireFailure(WireFailure.Kind.BUSY, "the sidecar has as many connections as it takes");
        }
        if (members.get("error") instanceof Map<?, ?> error) {
            throw refused("the sidecar refused this plugin"
                    + (error.get("message") instanceof String message ? ": " + message : ""));
        }
        if (!generation.equals(members.get("sidecar"))) {
            throw refused("another sidecar answered than the one the run folder names");
        }
        return Boolean.TRUE.equals(members.get("failures"));
    }

    private static Map<String, Object> members(String reply) {
        try (JsonParser json = Json.FACTORY.createParser(reply)) {
            if (json.nextToken() == JsonToken.START_OBJECT) {
                return Json.readObject(json);
            }
        } catch (IOException | ValueProblem malformed) {
            // Told below.
        }
        throw refused("the sidecar's greeting is not the JSON that was agreed on");
    }

    private static WireFailure refused(String reason) {
        return new WireFailure(WireFailure.Kind.UNAVAILABLE, reason);
    }

    private static String catalogueInJar() {
        try (InputStream in = Hello.class.getResourceAsStream("/META-INF/sidecypher/catalogue.json")) {
            if (in == null) {
                return "";
            }
            try (JsonParser json = Json.FACTORY.createParser(in)) {
                json.nextToken();
                Object hash = Json.readObject(json).get("hash");
                return hash instanceof String text && Pattern.matches("[0-9a-f]{0,64}", text) ? text : "";
            }
        } catch (IOException | ValueProblem unreadable) {
            return "";
        }
    }
}
