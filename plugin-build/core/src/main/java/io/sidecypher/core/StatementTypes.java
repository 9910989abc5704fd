package io.sidecypher.core;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.neo4j.graphdb.ExecutionPlanDescription;
import org.neo4j.graphdb.QueryExecutionType.QueryType;
import org.neo4j.graphdb.Result;
import org.neo4j.graphdb.Transaction;

/** Types of statements, found with EXPLAIN before they run. */
final class StatementTypes {
    private static final int MOST_KEPT = 512;
    private static final int LONGEST_KEPT = 8192;
    /** EXPLAIN on its own line, so that columns in Neo4j's messages are those of the statement. */
    private static final String EXPLAIN = "EXPLAIN\n";

    private static final Pattern POSITION = Pattern.compile("line (\\d+), column (\\d+) \\(offset: (\\d+)\\)");

    /** PROFILE, and before it all that Neo4j allows: white space, comments and other options. */
    private static final Pattern PROFILE = Pattern.compile(
            "(?:\\s++|//[^\\r\\n]*+|/\\*(?s:.*?)\\*/|EXPLAIN\\b|CYPHER\\b|[\\w.]++\\s*+=\\s*+[\\w.]++|[\\d.]++)*+"
                    + "(PROFILE)\\b",
            Pattern.CASE_INSENSITIVE);

    private static final Pattern EMPTY = Pattern.compile("(?:\\s++|//[^\\r\\n]*+|/\\*(?s:.*?)\\*/)*+");

    /** Prefix of the operators that commit a batch of rows: TransactionApply, TransactionForeach. */
    private static final String COMMITS = "Transaction";

    /**
     * Type of a statement.
     *
     * @param commits whether it has a CALL { } IN TRANSACTIONS, which commits on its own
     */
    record Kind(QueryType type, boolean commits) {}

    private static final Map<String, Kind> KEPT = new LinkedHashMap<>(16, 0.75f, true) {
        private static final long serialVersionUID = 1L;

        @Override
        protected boolean removeEldestEntry(Map.Entry<String, Kind> eldest) {
            return size() > MOST_KEPT;
        }
    };

    private StatementTypes() {}

    /** Returns the kind of a statement; throws Neo4j's error if it cannot be planned. */
    static Kind of(Transaction tx, String cypher, Map<String, Object> parameters) {
        Kind known;
        synchronized (KEPT) {
            known = KEPT.get(cypher);
        }
        if (known != null) {
            return known;
        }
        Kind kind = explain(tx, cypher, parameters);
        if (cypher.length() <= LONGEST_KEPT) {
            synchronized (KEPT) {
                KEPT.put(cypher, kind);
            }
        }
        return kind;
    }

    /** Returns whether a procedure of a mode may run statements of a type. */
    static boolean allows(String mode, QueryType type) {
        return switch (type) {
            case READ_ONLY -> true;
            case READ_WRITE, WRITE -> !mode.equals("READ");
            case SCHEMA_WRITE -> mode.equals("SCHEMA");
            default -> false;
        };
    }

    private static Kind explain(Transaction tx, String cypher, Map<String, Object> parameters) {
        if (EMPTY.matcher(cypher).matches()) {
            // This fails with Neo4j's own error; that of EXPLAIN alone would show EXPLAIN.
            tx.execute(cypher, parameters).close();
        }
        try (Result result = tx.execute(EXPLAIN + withoutProfile(cypher), parameters)) {
            return new Kind(
                    result.getQueryExecutionType().queryType(), commits(result.getExecutionPlanDescription()));
        } catch (RuntimeException failure) {
            throw new SidecypherException(Failures.statusOf(failure), correctPositions(Failures.messageOf(failure)));
        }
    }

    private static boolean commits(ExecutionPlanDescription plan) {
        return plan.getName().startsWith(COMMITS) || plan.getChildren().stream().anyMatch(StatementTypes::commits);
    }

    /** Replaces PROFILE with spaces, since a statement with PROFILE cannot be explained. */
    private static String withoutProfile(String cypher) {
        Matcher profile = PROFILE.matcher(cypher);
        return profile.lookingAt()
                ? cypher.substring(0, profile.start(1)) + " ".repeat("PROFILE".length()) + cypher.substring(profile.end(1))
                : cypher;
    }

    /** Corrects line and offset in a message: EXPLAIN has added a line. */
    private static String correctPositions(String message) {
        return POSITION.matcher(message).replaceAll(position -> Matcher.quoteReplacement(
                "line " + (Long.parseLong(position.group(1)) - 1) + ", column " + position.group(2) + " (offset: "
                        + (Long.parseLong(position.group(3)) - EXPLAIN.length()) + ")"));
    }
}
