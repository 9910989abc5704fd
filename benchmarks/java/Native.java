package io.sidecypher.bench;

import java.time.ZonedDateTime;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.neo4j.procedure.Mode;
import org.neo4j.procedure.Name;
import org.neo4j.procedure.Procedure;

/** The cost of calls that do not leave the JVM. */
public final class Native {
    public record Text(String value) {}

    @Procedure(name = "bench.native", mode = Mode.READ)
    public Stream<Text> echo(@Name("value") String value) {
        return Stream.of(new Text(value));
    }

    public record Issue(
            Long number, String id, String nodeId, String title, String body, String state, String stateReason,
            List<String> labels, List<String> assignees, String author, String milestone, Long comments,
            Boolean locked, Boolean isPullRequest, ZonedDateTime createdAt, ZonedDateTime updatedAt,
            ZonedDateTime closedAt, String url, ZonedDateTime fetchedAt, Boolean stale, Map<String, Object> error) {}

    private static final ZonedDateTime NOW = ZonedDateTime.parse("2024-02-29T12:00:00Z");

    /** Gives as many columns as {@code github.getIssue}, for the same arguments. */
    @Procedure(name = "bench.nativeIssue", mode = Mode.READ)
    public Stream<Issue> issue(
            @Name("owner") String owner, @Name("repo") String repo, @Name("number") long number) {
        return Stream.of(new Issue(
                number, "1", "I_1", "Title", "Body", "open", null, List.of("bug"), List.of(owner), owner, null, 0L,
                false, false, NOW, NOW, null, repo, NOW, false, null));
    }
}
