package io.sidecypher.core;

import java.util.ArrayList;
import java.util.List;
import java.util.Objects;

/** What a generated stub knows about the Python procedure or function it stands for. */
public final class PythonProcedure {
    record Parameter(String name, DeclaredType type, boolean nullable) {}

    record Column(String name, DeclaredType type) {}

    /** What becomes of a call that cannot be started. */
    enum Availability {
        /** It is not even tried, and gives what OPTIONAL gives. */
        OFF,
        /** It gives nulls or no rows. */
        OPTIONAL,
        /** It fails. */
        REQUIRED
    }

    private final String name;
    private final String signature;
    private final String mode;
    private final long timeoutMillis;
    private final boolean function;
    private final boolean singleRow;
    private final Availability availability;
    private final List<Parameter> parameters;
    private final List<Column> columns;

    private PythonProcedure(Builder builder) {
        name = builder.name;
        signature = Objects.requireNonNull(builder.signature, "signature");
        mode = Objects.requireNonNull(builder.mode, "mode");
        timeoutMillis = builder.timeoutMillis;
        function = builder.function;
        singleRow = builder.singleRow;
        availability = builder.availability;
        parameters = List.copyOf(builder.parameters);
        columns = List.copyOf(builder.columns);
    }

    /**
     * Starts the description of one procedure or function.
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

    /** Either {@code procedure} or {@code function}; one of each may have the same name. */
    String kind() {
        return function ? "function" : "procedure";
    }

    /** Whether every call gives exactly one row. */
    boolean isSingleRow() {
        return singleRow;
    }

    Availability availability() {
        return availability;
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
        private String mode = "READ";
        private long timeoutMillis;
        private boolean function;
        private boolean singleRow;
        private Availability availability = Availability.REQUIRED;

        private Builder(String name) {
            this.name = name;
        }

        public Builder signature(String value) {
            signature = value;
            return this;
        }

        /** One of READ, WRITE and SCHEMA; without this, READ. */
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

        /** A function, with the one column {@code value}, instead of a procedure. */
        public Builder function() {
            function = true;
            return singleRow();
        }

        /** Every call gives exactly one row. */
        public Builder singleRow() {
            singleRow = true;
            return this;
        }

        /** One of OFF, OPTIONAL and REQUIRED; without this, REQUIRED. */
        public Builder availability(String value) {
            availability = Availability.valueOf(value);
            return this;
        }

        public PythonProcedure build() {
            return new PythonProcedure(this);
        }
    }
}
