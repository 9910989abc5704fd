package io.sidecypher.generated;

import java.lang.reflect.Method;
import java.lang.reflect.Parameter;
import java.lang.reflect.RecordComponent;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import org.neo4j.procedure.Admin;
import org.neo4j.procedure.Description;
import org.neo4j.procedure.Name;
import org.neo4j.procedure.Procedure;
import org.neo4j.procedure.UserFunction;

/** Prints what Neo4j would read from stubs: a line per text, base64 of UTF-8. */
public final class ReadBack {
    public static void main(String[] classes) throws Exception {
        for (String name : classes) {
            Class<?> stub = Class.forName(name);
            for (Method method : stub.getMethods()) {
                Procedure procedure = method.getAnnotation(Procedure.class);
                UserFunction function = method.getAnnotation(UserFunction.class);
                if (procedure != null) {
                    print("procedure", procedure.name());
                    print("mode", procedure.mode().name());
                    print("eager", String.valueOf(procedure.eager()));
                    print("admin", String.valueOf(method.isAnnotationPresent(Admin.class)));
                    printMethod(method, procedure.deprecatedBy());
                    printColumns(method);
                } else if (function != null) {
                    print("function", function.name());
                    printMethod(method, function.deprecatedBy());
                }
            }
        }
    }

    private static void printMethod(Method method, String successor) {
        if (method.isAnnotationPresent(Deprecated.class)) {
            print("deprecated", successor);
        }
        print("description", method.getAnnotation(Description.class).value());
        for (Parameter parameter : method.getParameters()) {
            Name annotation = parameter.getAnnotation(Name.class);
            print("parameter", annotation.value());
            if (!annotation.defaultValue().equals(Name.DEFAULT_VALUE)) {
                print("default", annotation.defaultValue());
            }
        }
    }

    private static void printColumns(Method method) throws Exception {
        if (method.getReturnType() == void.class) {
            return;
        }
        String stub = method.getDeclaringClass().getName();
        Class<?> row = Class.forName(stub + "$Row" + method.getName().substring(1));
        for (RecordComponent column : row.getRecordComponents()) {
            print("column", column.getName());
            // Neo4j looks for it on the field of a component.
            var described = row.getDeclaredField(column.getName()).getAnnotation(Description.class);
            print("says", described == null ? "" : described.value());
        }
    }

    private static void print(String kind, String text) {
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        System.out.println(kind + " " + Base64.getEncoder().encodeToString(bytes));
    }
}
