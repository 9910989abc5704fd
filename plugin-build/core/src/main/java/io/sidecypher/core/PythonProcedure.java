package io.sidecypher.core;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Objects;

/**
 * The description of a Python procedure or function in its generated stub.
 *
 * @param name the full Cypher name
 * @param timeoutMillis the timeout of a call, at least 1
 * @param singleRow whether every call returns exactly one row
 * @param cache who gets rows of a call that are kept
 */
public record PythonProcedure(
        String name,
        String signature,
        String mode,
        long timeoutMillis,
        boolean function,
        boolean singleRow,
        Availability availability,
        CacheScope cache,
        List<Parameter> parameters,
        List<Column> columns) {
    record Parameter(String name, DeclaredType type, boolean nullable) {}

    record Column(String name, DeclaredType type) {}

    /** The behaviour of a call that cannot be started. */
    enum Availability {
        /** It is not tried, and returns the same as OPTIONAL. */
        OFF,
        /** It returns nulls or no rows. */
        OPTIONAL,
        /** It fails. */
        REQUIRED
    }

    /** The users who get rows that are kept. */
    enum CacheScope {
        /** Nothing is kept. */
        NONE,
        /** The user whose call they are from. */
        USER,
        /** Every user. */
        ALL
    }

    /** Compares by identity: a stub has one description of each procedure. */
    @Override
    public boolean equals(Object other) {
        return this == other;
    }

    @Override
    public int hashCode() {
        return name.hashCode();
    }

    /**
     * Starts the description of one procedure or function.
     *
     * @param name the full Cypher name, for example {@code github.getIssue}
     */
    public static Builder named(String name) {
        return new Builder(name);
    }

    /** Returns {@code procedure} or {@code function}; one of each may have the same name. */
    String kind() {
        return function ? "function" : "procedure";
    }

    /** A builder of {@link PythonProcedure}; parameters and columns are added in their order. */
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
        private CacheScope cache = CacheScope.NONE;

        private Builder(String name) {
            this.name = name;
        }

        public Builder signature(String value) {
            signature = value;
            return this;
        }

        /** Sets the mode: READ (the default), WRITE or SCHEMA. */
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

        /** Makes it a function, with the column {@code value}. */
        public Builder function() {
            function = true;
            return singleRow();
        }

        /** Declares that every call returns exactly one row. */
        public Builder singleRow() {
            singleRow = true;
            return this;
        }

        /** Sets the availability: OFF, OPTIONAL or REQUIRED (the default). */
        public Builder availability(String value) {
            availability = Availability.valueOf(value);
            return this;
        }

        /** Lets rows be kept for {@code user} or {@code all}. */
        public Builder cache(String value) {
            cache = CacheScope.valueOf(value.toUpperCase(Locale.ROOT));
            return this;
        }

        public PythonProcedure build() {
            return new PythonProcedure(
                    name,
                    Objects.requireNonNull(signature, "signature"),
                    Objects.requireNonNull(mode, "mode"),
                    timeoutMillis,
                    function,
                    singleRow,
                    availability,
                    cache,
                    List.copyOf(parameters),
                    List.copyOf(columns));
        }
    }
}
