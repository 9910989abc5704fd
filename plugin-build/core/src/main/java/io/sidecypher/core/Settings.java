package io.sidecypher.core;

import java.io.IOException;
import java.io.Reader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.TreeMap;

/**
 * The settings of the Java side. The environment ({@code SIDECYPHER_RUN_DIR}) goes before the file
 * {@code sidecypher.conf} ({@code run_dir=...}) in Neo4j's conf folder; neo4j.conf takes no unknown ones.
 *
 * @param runDir where the sidecar leaves its address, certificate and token; null when nobody said
 * @param poolSize how many calls run at once, nested ones not counted
 * @param queueLimit how many callers may wait for one of these
 * @param connectMillis how long the sidecar may take to accept a connection
 * @param handshakeMillis how long TLS, token and hello may take together
 * @param timeoutMillis the timeout of a procedure that has none of its own
 * @param graceMillis how long a cancelled call may take to answer before its connection is closed
 * @param maxLineBytes the longest line accepted or sent
 * @param nestedDepth how deep Python procedures may call each other through Cypher
 * @param circuitMillis how long calls keep away from a sidecar that could not be reached
 * @param availability which procedures may do without a sidecar
 * @param traceContext whether the trace context of the caller's transaction goes to the sidecar
 */
record Settings(
        Path runDir,
        int poolSize,
        int queueLimit,
        int connectMillis,
        int handshakeMillis,
        int timeoutMillis,
        int graceMillis,
        int maxLineBytes,
        int nestedDepth,
        int circuitMillis,
        AvailabilityRules availability,
        boolean traceContext) {
    private static final Set<String> NAMES = Set.of(
            "run_dir", "pool_size", "queue_limit", "connect_timeout_ms", "handshake_timeout_ms",
            "default_timeout_ms", "grace_ms", "max_line_bytes", "nested_depth", "circuit_ms",
            "availability", "trace_context");
    private static final String FILE = "sidecypher.conf";

    /** Reads the settings of this JVM; a wrong one is an IllegalArgumentException that names it. */
    static Settings load() {
        return of(System.getenv(), confFolder(System.getenv(), System.getProperty("sun.java.command", "")));
    }

    static Settings of(Map<String, String> environment, Path confFolder) {
        Map<String, String> values = confFolder == null ? new HashMap<>() : readFile(confFolder.resolve(FILE));
        for (String name : NAMES) {
            String value = environment.get("SIDECYPHER_" + name.toUpperCase(Locale.ROOT));
            if (value != null && !value.isBlank()) {
                values.put(name, value.strip());
            }
        }
        String runDir = values.get("run_dir");
        return new Settings(
                runDir == null ? null : Path.of(runDir),
                number(values, "pool_size", 16, 1, 256),
                number(values, "queue_limit", 1000, 0, 1_000_000),
                number(values, "connect_timeout_ms", 500, 1, 60_000),
                number(values, "handshake_timeout_ms", 2000, 1, 60_000),
                number(values, "default_timeout_ms", 30_000, 1, 86_400_000),
                number(values, "grace_ms", 250, 0, 60_000),
                number(values, "max_line_bytes", 16 * 1024 * 1024, 1024, 1024 * 1024 * 1024),
                number(values, "nested_depth", 8, 0, 64),
                number(values, "circuit_ms", 1000, 1, 600_000),
                AvailabilityRules.parse(values.getOrDefault("availability", "")),
                flag(values, "trace_context"));
    }

    /** Neo4j's conf folder, as NEO4J_CONF or the server's own command line names it; null if neither does. */
    static Path confFolder(Map<String, String> environment, String commandLine) {
        String named = environment.get("NEO4J_CONF");
        if (named != null && !named.isBlank()) {
            return Path.of(named);
        }
        String option = "--config-dir=";
        int at = commandLine.indexOf(option);
        if (at < 0) {
            return null;
        }
        String rest = commandLine.substring(at + option.length());
        int next = rest.indexOf(" --");
        return Path.of(next < 0 ? rest : rest.substring(0, next));
    }

    private static Map<String, String> readFile(Path file) {
        Map<String, String> values = new TreeMap<>();
        if (!Files.exists(file)) {
            return values;
        }
        Properties properties = new Properties();
        try (Reader reader = Files.newBufferedReader(file)) {
            properties.load(reader);
        } catch (IOException unreadable) {
            throw new IllegalArgumentException(FILE + " cannot be read");
        }
        for (String name : properties.stringPropertyNames()) {
            if (!NAMES.contains(name)) {
                throw new IllegalArgumentException(FILE + " holds the unknown setting " + name);
            }
            values.put(name, properties.getProperty(name).strip());
        }
        return values;
    }

    private static boolean flag(Map<String, String> values, String name) {
        return switch (values.getOrDefault(name, "false").toLowerCase(Locale.ROOT)) {
            case "true" -> true;
            case "false" -> false;
            default -> throw new IllegalArgumentException("the setting " + name + " must be true or false");
        };
    }

    private static int number(Map<String, String> values, String name, int otherwise, int least, int most) {
        String text = values.get(name);
        if (text == null) {
            return otherwise;
        }
        try {
            int number = Integer.parseInt(text);
            if (number >= least && number <= most) {
                return number;
            }
        } catch (NumberFormatException notANumber) {
            // Told below, as for a number out of range.
        }
        throw new IllegalArgumentException(
                "the setting " + name + " must be a whole number from " + least + " to " + most);
    }
}
