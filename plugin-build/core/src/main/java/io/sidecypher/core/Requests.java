package io.sidecypher.core;

import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.exc.StreamConstraintsException;
import java.io.IOException;
import java.util.List;

/** The requests of the plugin: a JSON envelope inside Py4J's five lines of a method call. */
final class Requests {
    /** Replaces each backslash on the wire, which Py4J would escape a second time. */
    static final char BACKSLASH = '\u001a';

    static final long VERSION = 2;

    private Requests() {}

    static String hello(String jvm, String role, String catalogue) {
        return command("hello", "{\"v\":" + VERSION + ",\"jvm\":\"" + jvm + "\",\"role\":\"" + role
                + "\",\"catalogue\":\"" + catalogue + "\"}");
    }

    /** Checks and writes the arguments; if one is refused, nothing has been sent yet. */
    static String call(Call call, Caller caller, Object[] arguments, int limit) {
        PythonProcedure procedure = call.procedure();
        try {
            return command("call", LimitedText.of(limit, json -> {
                json.writeStartObject();
                json.writeNumberField("v", VERSION);
                json.writeStringField("id", call.id());
                json.writeStringField("name", procedure.name());
                json.writeStringField("kind", procedure.kind());
                json.writeStringField("signature", procedure.signature());
                json.writeArrayFieldStart("args");
                writeArguments(json, procedure, arguments);
                json.writeEndArray();
                json.writeNumberField("remaining_ms", call.remainingMillis());
                json.writeStringField("mode", procedure.mode());
                json.writeStringField("database", caller.database());
                json.writeStringField("user", caller.user());
                json.writeStringField("traceparent", caller.traceparent());
                json.writeEndObject();
            }));
        } catch (LimitedText.TooLong tooLong) {
            throw Failures.tooLarge(procedure, "arguments", limit);
        }
    }

    /** Checks and writes the arguments alone, as the key of rows that are kept. */
    static String arguments(PythonProcedure procedure, Object[] arguments, int limit) {
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
        return command("page", "{\"v\":" + VERSION + ",\"id\":\"" + call.id() + "\",\"remaining_ms\":"
                + call.remainingMillis() + "}");
    }

    static String close(Call call) {
        return command("close", "{\"v\":" + VERSION + ",\"id\":\"" + call.id() + "\"}");
    }

    static String cancel(String id, String reason) {
        return command("cancel", "{\"v\":" + VERSION + ",\"id\":\"" + id + "\",\"reason\":\"" + reason + "\"}");
    }

    /** Writes as many counts as fit into a line: after a longer one the sidecar ends the connection. */
    static String failures(Counts counts, int limit) {
        String head = "{\"v\":" + VERSION + ",\"cache\":" + counts.cache().list(limit / 2) + ",\"failures\":";
        String tail = "}";
        return command("failures", head + counts.failures().list(limit - ("s" + head + tail).length()) + tail);
    }

    private static void writeArguments(JsonGenerator json, PythonProcedure procedure, Object[] arguments)
            throws IOException {
        List<PythonProcedure.Parameter> parameters = procedure.parameters();
        if (arguments.length != parameters.size()) {
            throw Failures.protocol(procedure, "the stub passes " + arguments.length + " arguments for "
                    + parameters.size() + " parameters");
        }
        for (int i = 0; i < arguments.length; i++) {
            PythonProcedure.Parameter parameter = parameters.get(i);
            try {
                ValueWriter.write(json, checked(parameter, arguments[i]));
            } catch (ValueProblem problem) {
                throw Failures.argument(procedure, parameter.name(), problem);
            } catch (StreamConstraintsException tooDeep) {
                throw Failures.argument(procedure, parameter.name(), Json.tooDeep());
            }
        }
    }

    private static Object checked(PythonProcedure.Parameter parameter, Object argument) {
        Object value = parameter.type().widened(ValueWriter.normal(argument));
        if (value == null && !parameter.nullable()) {
            throw new ValueProblem("must not be null");
        }
        if (!parameter.type().accepts(value)) {
            throw new ValueProblem("must be of type " + parameter.type() + ", not " + ValueWriter.typeName(value));
        }
        return value;
    }

    private static String command(String method, String json) {
        return "c\nt\n" + method + "\ns" + json.replace('\\', BACKSLASH) + "\ne\n";
    }
}
