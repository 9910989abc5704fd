package io.sidecypher.generated;

import java.lang.reflect.Parameter;
import java.lang.reflect.RecordComponent;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import org.neo4j.procedure.Description;
import org.neo4j.procedure.Name;
import org.neo4j.procedure.Procedure;

/** Prints what Neo4j would read from stubs: a line per text, base64 of UTF-8. */
public final class ReadBack {
    public static void main(String[] classes) throws Exception {
        for (String name : classes) {
            Class<?> stub = Class.forName(name);
            for (var method : stub.getMethods()) {
                Procedure procedure = method.getAnnotation(Procedure.class);
                if (procedure == null) {
                    continue;
                }
                print("procedure", procedure.name());
                print("mode", procedure.mode().name());
                print("description", method.getAnnotation(Description.class).value());
                for (Parameter parameter : method.getParameters()) {
                    Name annotation = parameter.getAnnotation(Name.class);
                    print("parameter", annotation.value());
                    if (!annotation.defaultValue().equals(Name.DEFAULT_VALUE)) {
                        print("default", annotation.defaultValue());
                    }
                }
                Class<?> row = Class.forName(name + "$Row" + method.getName().substring(1));
                for (RecordComponent column : row.getRecordComponents()) {
                    print("column", column.getName());
                }
            }
        }
    }

    private static void print(String kind, String text) {
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        System.out.println(kind + " " + Base64.getEncoder().encodeToString(bytes));
    }
}
