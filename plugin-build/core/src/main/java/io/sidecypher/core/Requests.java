package io.sidecypher.core;

import com.fasterxml.jackson.core.JsonGenerator;
import java.io.IOException;
import java.util.Arrays;
import java.util.Map;

/** The requests of the plugin: a JSON envelope inside Py4J's five lines of a method call. */
final class Requests {
    /** Replaces each backslash on the wire, which Py4J would escape a second time. */
    static final char BACKSLASH = '\u001a';

    static final long VERSION = 2;

    private static final int ROOM_FOR_THE_TIME = ",\"remaining_ms\":86400000}".length();

    private Requests() {}

    static String hello(String jvm, String role, String catalogue) {
        return command("hello", "{\"v\":" + VERSION + ",\"jvm\":\"" + jvm + "\",\"role\":\"" + role
                + "\",\"catalogue\":\"" + catalogue + "\"}");
    }

    /**
     * Checks and writes the arguments; if one is refused, nothing has been sent yet.
     *
     * @return the members of the envelope without the time, which {@link #call} adds
     */
    static String members(Call call, Caller caller, Object[] arguments, int limit) {
        PythonProcedure procedure = call.procedure();
        try {
            return LimitedText.of(limit - ROOM_FOR_THE_TIME, json -> {
                json.writeStartObject();
                json.writeNumberField("v", VERSION);
                json.writeStringField("id", call.id());
                json.writeStringField("name", procedure.name());
                json.writeStringField("kind", procedure.kind());
                json.writeStringField("signature", procedure.signature());
                json.writeArrayFieldStart("args");
                writeArguments(json, procedure, arguments);
                json.writeEndArray();
                json.writeStringField("mode", procedure.mode());
                json.writeStringField("database", caller.database());
                json.writeStringField("user", caller.user());
                json.writeStringField("traceparent", caller.traceparent());
            });
        } catch (LimitedText.TooLong tooLong) {
            throw Failures.tooLarge(procedure, "arguments", limit);
        }
    }

    static String call(Call call, String members) {
        return command("call", members + remaining(call));
    }

    /** Checks the arguments, and returns what is equal for equal ones: simple values, or their JSON. */
    static Object comparable(PythonProcedure procedure, Object[] arguments, int limit) {
        checkCount(procedure, arguments);
        Object[] values = new Object[arguments.length];
        for (int i = 0; i < values.length; i++) {
            values[i] = checked(procedure, i, arguments[i]);
            if (!isSimple(values[i])) {
                return json(procedure, arguments, limit);
            }
        }
        return Arrays.asList(values);
    }

    private static boolean isSimple(Object value) {
        return value == null
                || value instanceof String
                || value instanceof Long
                || value instanceof Boolean
                || value instanceof Double
                || Map.of().equals(value);
    }

    private static String json(PythonProcedure procedure, Object[] arguments, int limit) {
        try {
            return LimitedText.of(limit, json -> {
                json.writeStartArray();
                writeArguments(json, procedure, arguments);
                json.writeEndArray();
            });
        } catch (LimitedText.TooLong tooLong) {
            throw Failures.tooLarge(procedure, "arguments", limit);
        }
    }

    static String page(Call call) {
        return command("page", "{\"v\":" + VERSION + ",\"id\":\"" + call.id() + "\"" + remaining(call));
    }

    /** Returns the last member of an envelope, and its end. */
    private static String remaining(Call call) {
        return ",\"remaining_ms\":" + call.remainingMillis() + "}";
    }

    static String close(Call call) {
        return command("close", "{\"v\":" + VERSION + ",\"id\":\"" + call.id() + "\"}");
    }

    static String cancel(String id, String reason) {
        return command("cancel", "{\"v\":" + VERSION + ",\"id\":\"" + id + "\",\"reason\":\"" + reason + "\"}");
    }

    /** Writes as many counts as fit into a line: after a longer one the sidecar ends the connection. */
    static String failures(Counts counts, int limit) {
        String head = "{\"v\":" + VERSION + ",\"cache\":" + Counts.list(counts.cache().all(), limit / 2) + ",\"failures\":";
        String tail = "}";
        return command("failures", head + Counts.list(counts.failures().all(), limit - ("s" + head + tail).length()) + tail);
    }

    private static void writeArguments(JsonGenerator json, PythonProcedure procedure, Object[] arguments)
            throws IOException {
        checkCount(procedure, arguments);
        for (int i = 0; i < arguments.length; i++) {
            Object value = checked(procedure, i, arguments[i]);
            try {
                ValueWriter.write(json, value);
            } catch (ValueProblem problem) {
                throw Failures.argument(procedure, procedure.parameters().get(i).name(), problem);
            }
        }
    }

    private static void checkCount(PythonProcedure procedure, Object[] arguments) {
        if (arguments.length != procedure.parameters().size()) {
            throw Failures.protocol(procedure, "the stub passes " + arguments.length + " arguments for "
                    + procedure.parameters().size() + " parameters");
        }
    }

    private static Object checked(PythonProcedure procedure, int index, Object argument) {
        PythonProcedure.Parameter parameter = procedure.parameters().get(index);
        try {
            Object value = parameter.type().widened(ValueWriter.normal(argument));
            if (value == null && !parameter.nullable()) {
                throw new ValueProblem("must not be null");
            }
            if (!parameter.type().accepts(value)) {
                throw new ValueProblem(
                        "must be of type " + parameter.type() + ", not " + ValueWriter.typeName(value));
            }
            return value;
        } catch (ValueProblem problem) {
            throw Failures.argument(procedure, parameter.name(), problem);
        }
    }

    private static String command(String method, String json) {
        return "c\nt\n" + method + "\ns" + json.replace('\\', BACKSLASH) + "\ne\n";
    }
}
