package io.sidecypher.bench;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import jdk.jfr.Recording;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordedThread;
import jdk.jfr.consumer.RecordingFile;
import org.neo4j.graphdb.GraphDatabaseService;
import org.neo4j.graphdb.Result;
import org.neo4j.graphdb.Transaction;
import org.neo4j.procedure.Context;
import org.neo4j.procedure.Mode;
import org.neo4j.procedure.Name;
import org.neo4j.procedure.Procedure;

/** Samples the stacks of a query's thread in Java code, with the flight recorder of the JVM. */
public final class Profile {
    /**
     * @param stack classes and methods, the innermost first, divided by semicolons
     * @param samples number of samples with this stack
     */
    public record Seen(String stack, Long samples) {}

    private static final String EVENT = "jdk.ExecutionSample";

    @Context public GraphDatabaseService database;

    @Procedure(name = "bench.profile", mode = Mode.READ)
    public Stream<Seen> profile(
            @Name("query") String query, @Name("parameters") Map<String, Object> parameters) throws IOException {
        Path file = Files.createTempFile("bench", ".jfr");
        try (Recording recording = new Recording()) {
            recording.enable(EVENT).withPeriod(Duration.ofMillis(10));
            recording.start();
            read(query, parameters);
            recording.stop();
            recording.dump(file);
            return count(file).entrySet().stream().map(seen -> new Seen(seen.getKey(), seen.getValue()));
        } finally {
            Files.deleteIfExists(file);
        }
    }

    private void read(String query, Map<String, Object> parameters) {
        try (Transaction tx = database.beginTx();
                Result result = tx.execute(query, parameters)) {
            while (result.hasNext()) {
                result.next();
            }
        }
    }

    private static Map<String, Long> count(Path file) throws IOException {
        Map<String, Long> counts = new HashMap<>();
        for (RecordedEvent event : RecordingFile.readAllEvents(file)) {
            RecordedThread thread = event.getThread("sampledThread");
            if (thread != null && thread.getJavaThreadId() == Thread.currentThread().getId()) {
                counts.merge(stack(event), 1L, Long::sum);
            }
        }
        return counts;
    }

    private static String stack(RecordedEvent event) {
        return event.getStackTrace().getFrames().stream()
                .map(frame -> frame.getMethod().getType().getName() + "." + frame.getMethod().getName())
                .collect(Collectors.joining(";"));
    }
}
