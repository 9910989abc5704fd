package io.sidecypher.core;

import java.time.temporal.ChronoUnit;
import java.time.temporal.Temporal;
import java.time.temporal.TemporalAmount;
import java.time.temporal.TemporalUnit;
import java.time.temporal.UnsupportedTemporalTypeException;
import java.util.List;

/**
 * A DURATION with the four parts of Cypher. Neo4j accepts any TemporalAmount, but its own class is not
 * public.
 */
record CypherDuration(long months, long days, long seconds, long nanoseconds) implements TemporalAmount {
    private static final List<TemporalUnit> UNITS =
            List.of(ChronoUnit.MONTHS, ChronoUnit.DAYS, ChronoUnit.SECONDS, ChronoUnit.NANOS);
    private static final long MONTHS_OF_A_YEAR = 12;
    private static final long SECONDS_OF_A_MONTH = ChronoUnit.MONTHS.getDuration().getSeconds();
    private static final long SECONDS_OF_A_DAY = ChronoUnit.DAYS.getDuration().getSeconds();
    private static final long NANOS_OF_A_SECOND = 1_000_000_000;

    CypherDuration {
        try {
            // Neo4j refuses the same values, but without the name of the column.
            Math.addExact(
                    Math.addExact(Math.multiplyExact(months, SECONDS_OF_A_MONTH), Math.multiplyExact(days, SECONDS_OF_A_DAY)),
                    Math.addExact(seconds, nanoseconds / NANOS_OF_A_SECOND));
        } catch (ArithmeticException tooLong) {
            throw new ValueProblem("holds a DURATION longer than Cypher allows");
        }
    }

    /** Converts any duration that Neo4j or its plugins may return. */
    static CypherDuration of(TemporalAmount amount) {
        if (amount instanceof CypherDuration duration) {
            return duration;
        }
        long months = 0;
        long days = 0;
        long seconds = 0;
        long nanoseconds = 0;
        for (TemporalUnit unit : amount.getUnits()) {
            if (unit == ChronoUnit.YEARS) {
                months += amount.get(unit) * MONTHS_OF_A_YEAR;
            } else if (unit == ChronoUnit.MONTHS) {
                months += amount.get(unit);
            } else if (unit == ChronoUnit.DAYS) {
                days += amount.get(unit);
            } else if (unit == ChronoUnit.SECONDS) {
                seconds += amount.get(unit);
            } else if (unit == ChronoUnit.NANOS) {
                nanoseconds += amount.get(unit);
            } else {
                throw new ValueProblem("holds a duration in units Cypher does not have");
            }
        }
        return new CypherDuration(months, days, seconds, nanoseconds);
    }

    @Override
    public long get(TemporalUnit unit) {
        int index = UNITS.indexOf(unit);
        return switch (index) {
            case 0 -> months;
            case 1 -> days;
            case 2 -> seconds;
            case 3 -> nanoseconds;
            default -> throw new UnsupportedTemporalTypeException("Unsupported unit: " + unit);
        };
    }

    @Override
    public List<TemporalUnit> getUnits() {
        return UNITS;
    }

    @Override
    public Temporal addTo(Temporal temporal) {
        Temporal sum = temporal;
        for (TemporalUnit unit : UNITS) {
            sum = get(unit) == 0 ? sum : sum.plus(get(unit), unit);
        }
        return sum;
    }

    @Override
    public Temporal subtractFrom(Temporal temporal) {
        Temporal difference = temporal;
        for (TemporalUnit unit : UNITS) {
            difference = get(unit) == 0 ? difference : difference.minus(get(unit), unit);
        }
        return difference;
    }
}
