package io.sidecypher.core;

import java.util.ArrayList;
import java.util.List;
import java.util.Objects;

/** What a generated stub knows about the Python procedure it stands for. */
public final class PythonProcedure {
    record Parameter(String name, DeclaredType type, boolean nullable) {}

    record Column(String name, DeclaredType type) {}

    private final String name;
    private final String signature;
    private final String mode;
    private final long timeoutMillis;
    private final List<Parameter> parameters;
    private final List<Column> columns;

    private PythonProcedure(Builder builder) {
        name = builder.name;
        signature = Objects.requireNonNull(builder.signature, "signature");
        mode = Objects.requireNonNull(builder.mode, "mode");
        timeoutMillis = builder.timeoutMillis;
        parameters = List.copyOf(builder.parameters);
        columns = List.copyOf(builder.columns);
    }

    /**
     * Starts the description of one procedure.
     *
     * @param name the full Cypher name, for example {@code github.getIssue}
     */
    public static Builder named(String name) {
        return new Builder(name);
    }

    String name() {
        return name;
    }

    String signature() {
        return signature;
    }

    String mode() {
        return mode;
    }

    /** The procedure's own timeout; 0 leaves it to the setting {@code default_timeout_ms}. */
    long timeoutMillis() {
        return timeoutMillis;
    }

    List<Parameter> parameters() {
        return parameters;
    }

    List<Column> columns() {
        return columns;
    }

    /** Collects the facts of a {@link PythonProcedure}; parameters and columns in their order. */
    public static final class Builder {
        private final String name;
        private final List<Parameter> parameters = new ArrayList<>();
        private final List<Column> columns = new ArrayList<>();
        private String signature;
        private String mode;
        private long timeoutMillis;

        private Builder(String name) {
            this.name = name;
        }

        public Builder signature(String value) {
            signature = value;
            return this;
        }

        /** One of READ, WRITE and SCHEMA. */
        public Builder mode(String value) {
            mode = value;
            return this;
        }

        public Builder timeoutMillis(long value) {
            timeoutMillis = value;
            return this;
        }

        public Builder parameter(String parameter, String type, boolean nullable) {
            parameters.add(new Parameter(parameter, DeclaredType.parse(type), nullable));
            return this;
        }

        public Builder column(String column, String type) {
            columns.add(new Column(column, DeclaredType.parse(type)));
            return this;
        }

        public PythonProcedure build() {
            return new PythonProcedure(this);
        }
    }
}
