package io.sidecypher.core;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.neo4j.graphdb.Node;
import org.neo4j.graphdb.Vector;
import org.neo4j.graphdb.Vector.CoordinateType;

/** A VECTOR of Neo4j 2026 is refused by name, with the Cypher function that converts it. */
class VectorTests {
    private static Vector vector(CoordinateType type) {
        return Harness.proxy(Vector.class, (name, arguments) -> name.equals("coordinateType") ? type : 3);
    }

    private static String refused(Object value) {
        ValueProblem problem = assertThrows(
                ValueProblem.class, () -> LimitedText.of(1000000, json -> ValueWriter.write(json, value)));
        assertEquals("SC-215", problem.code());
        return problem.getMessage();
    }

    @Test
    void aVectorIsRefusedWithTheFunctionThatConvertsIt() {
        String floats = "holds a VECTOR, which cannot cross to Python: convert it in Cypher with `toFloatList(...)`";
        Vector vector = vector(CoordinateType.FLOAT32);

        for (Object value : List.of(vector, List.of(1L, vector), Map.of("a", vector), new Object[] {vector})) {
            assertEquals(floats, refused(value));
        }
        assertEquals(floats.replace("toFloat", "toInteger"), refused(vector(CoordinateType.INTEGER8)));
    }

    @Test
    void aPropertyThatIsAVectorIsNamed() {
        FakeGraph graph = new FakeGraph();
        Node node = graph.node("4:a:1", Map.of("embedding", vector(CoordinateType.FLOAT32)), "Text");
        Node other = graph.node("4:a:2", Map.of());

        for (Object value : List.of(node, graph.relationship(
                "5:a:1", "NEAR", node, other, Map.of("embedding", vector(CoordinateType.FLOAT32))))) {
            assertEquals(
                    "holds an entity whose property `embedding` is a VECTOR, which cannot cross to Python: pass"
                            + " `toFloatList(n.embedding)` and the other properties you need instead of the entity `n`",
                    refused(value));
        }
    }

    @Test
    void aVectorIsOfNoOtherType() {
        assertEquals("VECTOR", ValueWriter.typeName(vector(CoordinateType.FLOAT32)));
        assertFalse(DeclaredType.parse("LIST<FLOAT>").accepts(vector(CoordinateType.FLOAT32)));
    }
}
