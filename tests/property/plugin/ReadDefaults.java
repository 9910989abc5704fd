package org.neo4j.procedure.impl;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;
import java.time.LocalDate;
import java.time.OffsetTime;
import java.time.temporal.TemporalAmount;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import org.neo4j.graphdb.Node;
import org.neo4j.graphdb.Path;
import org.neo4j.graphdb.spatial.Point;
import org.neo4j.internal.kernel.api.procs.Neo4jTypes;

/** Reads "method base64" lines and lets Neo4j parse each text as that parameter's default. */
public final class ReadDefaults {
    interface Parameters {
        void integer(Long value);

        void real(Double value);

        void truth(Boolean value);

        void text(String value);

        void map(Map<String, Object> value);

        void list(List<Object> value);

        void integers(List<Long> value);

        void texts(List<String> value);

        void reals(List<Double> value);

        void days(List<LocalDate> value);

        void blobs(List<byte[]> value);

        void spans(List<TemporalAmount> value);

        void blob(byte[] value);

        void span(TemporalAmount value);

        void anything(Object value);
    }

    public static void main(String[] arguments) throws Exception {
        var types = new Cypher5TypeCheckers();
        // What a starting Neo4j adds to the types that it knows from the beginning.
        register(types, Node.class, Neo4jTypes.NTNode);
        register(types, Path.class, Neo4jTypes.NTPath);
        register(types, Point.class, Neo4jTypes.NTPoint);
        var lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            String[] parts = line.split(" ", -1);
            String text = new String(Base64.getDecoder().decode(parts[1]), StandardCharsets.UTF_8);
            System.out.println(accepts(types, parts[0], text) ? "accepted" : "refused");
        }
    }

    private static void register(
            Cypher5TypeCheckers types, Class<?> javaClass, Neo4jTypes.AnyType type) {
        types.registerType(javaClass, new Cypher5TypeCheckers.DefaultValueConverter(type));
    }

    private static boolean accepts(Cypher5TypeCheckers types, String name, String text)
            throws Exception {
        for (Method method : Parameters.class.getDeclaredMethods()) {
            if (method.getName().equals(name)) {
                try {
                    types.converterFor(method.getGenericParameterTypes()[0]).defaultValue(text);
                    return true;
                } catch (Exception refused) {
                    return false;
                }
            }
        }
        throw new IllegalArgumentException(name);
    }
}
