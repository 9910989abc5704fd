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
 * The settings of the plugin. Environment variables ({@code SIDECYPHER_RUN_DIR}) override the file
 * {@code sidecypher.conf} ({@code run_dir=...}) in Neo4j's conf folder; neo4j.conf refuses unknown settings.
 *
 * @param runDir folder with the sidecar's address, certificate and token; null if it is not set
 * @param poolSize number of concurrent calls, without nested ones
 * @param queueLimit number of callers that may wait for a connection
 * @param connectMillis longest time until the sidecar accepts a connection
 * @param handshakeMillis longest time for TLS, token and hello together
 * @param graceMillis time for a cancelled call to answer before its connection is closed
 * @param maxLineBytes the longest line accepted or sent
 * @param nestedDepth how deep Python procedures may call each other through Cypher
 * @param circuitMillis time without calls to a sidecar that could not be reached
 * @param availability the availability of procedures without a sidecar
 * @param traceContext whether the trace context of the caller's transaction is sent to the sidecar
 * @param cacheBytes memory for rows that are kept; with 0 none are
 * @param leastTimeoutMillis the least time that a call has, whatever its procedure says; for debuggers
 */
record Settings(
        Path runDir,
        int poolSize,
        int queueLimit,
        int connectMillis,
        int handshakeMillis,
        int graceMillis,
        int maxLineBytes,
        int nestedDepth,
        int circuitMillis,
        AvailabilityRules availability,
        boolean traceContext,
        int cacheBytes,
        int leastTimeoutMillis) {
    private static final Set<String> NAMES = Set.of(
            "run_dir", "pool_size", "queue_limit", "connect_timeout_ms", "handshake_timeout_ms",
            "grace_ms", "max_line_bytes", "nested_depth", "circuit_ms", "availability", "trace_context",
            "cache_bytes", "least_timeout_ms");
    private static final String FILE = "sidecypher.conf";

    /** Reads the settings of this JVM; throws an IllegalArgumentException that names a wrong one. */
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
                number(values, "grace_ms", 250, 0, 60_000),
                number(values, "max_line_bytes", 16 * 1024 * 1024, 1024, 1024 * 1024 * 1024),
                number(values, "nested_depth", 8, 0, 64),
                number(values, "circuit_ms", 1000, 1, 600_000),
                AvailabilityRules.parse(values.getOrDefault("availability", "")),
                flag(values, "trace_context"),
                number(values, "cache_bytes", 64 * 1024 * 1024, 0, Integer.MAX_VALUE),
                number(values, "least_timeout_ms", 0, 0, 86_400_000));
    }

    /** Returns Neo4j's conf folder from NEO4J_CONF or the server's command line, or null. */
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
            // Reported below, like a number out of range.
        }
        throw new IllegalArgumentException(
                "the setting " + name + " must be a whole number from " + least + " to " + most);
    }
}
