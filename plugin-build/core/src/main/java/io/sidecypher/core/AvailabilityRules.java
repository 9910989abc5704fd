package io.sidecypher.core;

import io.sidecypher.core.PythonProcedure.Availability;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The setting {@code availability}: {@code github.*=OPTIONAL,kg.x=OFF}; the longest matching pattern wins. */
final class AvailabilityRules {
    private static final Pattern RULE =
            Pattern.compile("([A-Za-z0-9.]*)(\\*?)\\s*=\\s*(OFF|OPTIONAL|REQUIRED)", Pattern.CASE_INSENSITIVE);

    private record Rule(String name, boolean isPrefix, Availability availability) {
        boolean fits(String procedure) {
            return isPrefix ? procedure.startsWith(name) : procedure.equals(name);
        }
    }

    private final List<Rule> rules = new ArrayList<>();

    private AvailabilityRules() {}

    static AvailabilityRules parse(String text) {
        AvailabilityRules parsed = new AvailabilityRules();
        for (String part : text.split(",")) {
            if (!part.isBlank()) {
                parsed.rules.add(rule(part.strip()));
            }
        }
        // A whole name can be as long as a matching prefix, and is more specific.
        parsed.rules.sort(Comparator.<Rule>comparingInt(rule -> -rule.name().length()).thenComparing(Rule::isPrefix));
        return parsed;
    }

    /** Returns the availability of a procedure: the setting overrides what its author has declared. */
    Availability of(PythonProcedure procedure) {
        for (Rule rule : rules) {
            if (rule.fits(procedure.name())) {
                return rule.availability();
            }
        }
        return procedure.availability();
    }

    private static Rule rule(String text) {
        Matcher parts = RULE.matcher(text);
        if (!parts.matches()) {
            throw new IllegalArgumentException("the setting availability must be a list of names or beginnings of"
                    + " names with OFF, OPTIONAL or REQUIRED, such as github.*=OPTIONAL,kg.score=OFF");
        }
        Availability availability = Availability.valueOf(parts.group(3).toUpperCase(Locale.ROOT));
        return new Rule(parts.group(1), !parts.group(2).isEmpty(), availability);
    }
}
