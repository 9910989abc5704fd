package io.sidecypher.core;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.core.JsonParser;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.neo4j.graphdb.Entity;
import org.neo4j.graphdb.Node;
import org.neo4j.graphdb.Path;
import org.neo4j.graphdb.Relationship;

/** Entities go out as snapshots, and come back as the entities of the caller's transaction. */
class EntityTests {
    private final FakeGraph graph = new FakeGraph();
    private final Node ann = graph.node("4:a:1", Map.of("name", "Ann"), "Person", "Author");
    private final Node bob = graph.node("4:a:2", Map.of("$date", "no tag"));
    private final Node cyd = graph.node("4:a:3", Map.of());
    private final Relationship knows = graph.relationship("5:a:1", "KNOWS", ann, bob, Map.of("since", 1999));
    private final Relationship likes = graph.relationship("5:a:2", "LIKES", cyd, bob, Map.of());

    private static final String ANN = "[\"4:a:1\",[\"Author\",\"Person\"],{\"name\":\"Ann\"}]";
    private static final String BOB = "[\"4:a:2\",[],{\"$map\":{\"$date\":\"no tag\"}}]";
    private static final String KNOWS = "[\"5:a:1\",\"KNOWS\",\"4:a:1\",\"4:a:2\",{\"since\":1999}]";

    @Test
    void snapshotsLookAsTheContractSays() {
        assertEquals("{\"$node\":" + ANN + "}", write(ann));
        assertEquals("{\"$node\":" + BOB + "}", write(bob));
        assertEquals("{\"$relationship\":" + KNOWS + "}", write(knows));
        assertEquals("{\"$path\":[[" + ANN + "," + BOB + "],[" + KNOWS + "]]}",
                write(new CypherPath(List.of(ann, bob), List.of(knows))));
    }

    @Test
    void snapshotsBecomeTheEntitiesAgain() throws IOException {
        assertSame(ann, read(write(ann)));
        assertSame(knows, read(write(knows)));
        assertEquals(List.of(Map.of("a", List.of(bob))), read(write(List.of(Map.of("a", List.of(bob))))));
        assertSame(ann, read("{\"$node\":[\"4:a:1\",[],{}]}"));
        assertEquals(Map.of("$node", List.of("4:a:1"), "other", ann),
                read("{\"$node\":[\"4:a:1\"],\"other\":{\"$node\":[\"4:a:1\",[],{}]}}"));
    }

    @Test
    void aPathLeadsEitherWayAlongItsRelationships() throws IOException {
        Path path = (Path) read(write(new CypherPath(List.of(ann, bob, cyd), List.of(knows, likes))));
        assertSame(ann, path.startNode());
        assertSame(cyd, path.endNode());
        assertSame(likes, path.lastRelationship());
        assertEquals(2, path.length());
        assertEquals(List.of(cyd, bob, ann), path.reverseNodes());
        assertEquals(List.of(likes, knows), path.reverseRelationships());
        List<Entity> walked = new ArrayList<>();
        path.forEach(walked::add);
        assertEquals(List.of(ann, knows, bob, likes, cyd), walked);
        assertEquals(null, ((Path) read(write(new CypherPath(List.of(ann), List.of())))).lastRelationship());
    }

    @Test
    void aPathWhosePartsDoNotMeetIsRefused() {
        assertThrows(ValueProblem.class, () -> new CypherPath(List.of(ann, cyd), List.of(knows)));
        assertThrows(ValueProblem.class, () -> new CypherPath(List.of(ann), List.of(knows)));
        assertThrows(ValueProblem.class, () -> new CypherPath(List.of(), List.of()));
    }

    @ParameterizedTest
    @ValueSource(strings = {
        "{\"$node\":[\"4:a:9\",[],{}]}", "{\"$node\":[\"5:a:1\",[],{}]}", "{\"$node\":[\"\",[],{}]}",
        "{\"$relationship\":[\"5:a:9\",\"KNOWS\",\"4:a:1\",\"4:a:2\",{}]}", "{\"$path\":[[[\"4:a:9\",[],{}]],[]]}",
        "[{\"a\":{\"$node\":[\"4:a:9\",[],{}]}}]"
    })
    void anEntityThatIsNotThereHasItsOwnCode(String json) {
        ValueProblem problem = assertThrows(ValueProblem.class, () -> read(json));
        assertEquals("SC-218", problem.code());
        assertTrue(!problem.getMessage().contains("4:a"), problem.getMessage());
    }

    @Test
    void aDeletedEntityIsNotSent() {
        graph.delete(ann);
        for (Object value : List.of(ann, List.of(ann), Map.of("a", ann))) {
            ValueProblem problem = assertThrows(ValueProblem.class, () -> write(value));
            assertEquals("SC-218", problem.code());
            assertEquals("holds a NODE that this transaction has deleted", problem.getMessage());
        }
    }

    private static String write(Object value) {
        return LimitedText.of(1000000, json -> ValueWriter.write(json, value));
    }

    private Object read(String text) throws IOException {
        try (JsonParser json = Json.FACTORY.createParser(text)) {
            json.nextToken();
            return new ValueReader(json, new Entities(graph.transaction())).read();
        }
    }
}
