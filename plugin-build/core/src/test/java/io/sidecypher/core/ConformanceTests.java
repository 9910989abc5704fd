package io.sidecypher.core;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.neo4j.graphdb.Node;

/** The cases of tests/conformance/values.json, which drive the Python side too. */
class ConformanceTests {
    private static final Path FILE = Path.of("../../tests/conformance/values.json");

    /**
     * @param wire JSON as the file writes it; kept as text, since some of it no reader takes
     */
    record Case(String name, String type, String wire, List<String> also) {
        @Override
        public String toString() {
            return name;
        }
    }

    static Stream<Case> values() throws IOException {
        return cases("values").stream();
    }

    static Stream<Case> refused() throws IOException {
        return cases("refused_wire").stream();
    }

    @ParameterizedTest
    @MethodSource("values")
    void aValueIsReadAndWrittenAsTheFileSays(Case each) throws IOException {
        Entities entities = entitiesOf(each.wire());
        Object expected = parse(each.wire());
        List<String> forms = new ArrayList<>(each.also());
        forms.add(each.wire());
        for (String form : forms) {
            Object value = read(form, entities);
            assertTrue(DeclaredType.parse(each.type()).accepts(value), form);
            assertEquals(expected, parse(LimitedText.of(1000000, json -> ValueWriter.write(json, value))));
        }
    }

    @ParameterizedTest
    @MethodSource("refused")
    void whatIsNoValueOfItsTypeIsRefused(Case each) throws IOException {
        Object value;
        try {
            value = read(each.wire(), new Entities(new FakeGraph().transaction()));
        } catch (ValueProblem expected) {
            return;
        }
        assertFalse(DeclaredType.parse(each.type()).accepts(value), String.valueOf(value));
    }

    private static List<Case> cases(String list) throws IOException {
        String text = Files.readString(FILE);
        List<Case> cases = new ArrayList<>();
        try (JsonParser json = Json.FACTORY.createParser(text)) {
            json.nextToken();
            while (!list.equals(json.nextFieldName())) {
                json.skipChildren();
            }
            json.nextToken();
            while (json.nextToken() == JsonToken.START_OBJECT) {
                cases.add(oneCase(json, text));
            }
        }
        assertFalse(cases.isEmpty());
        return cases;
    }

    private static Case oneCase(JsonParser json, String text) throws IOException {
        Map<String, String> members = new HashMap<>();
        List<String> also = new ArrayList<>();
        for (String key = json.nextFieldName(); key != null; key = json.nextFieldName()) {
            JsonToken value = json.nextToken();
            if (key.equals("also")) {
                while (json.nextToken() != JsonToken.END_ARRAY) {
                    also.add(source(json, text));
                }
            } else if (key.equals("wire")) {
                members.put(key, source(json, text));
            } else if (value == JsonToken.VALUE_STRING) {
                members.put(key, json.getText());
            }
        }
        return new Case(members.get("name"), members.get("type"), members.get("wire"), also);
    }

    /** The text of the value that begins at the parser's current token. */
    private static String source(JsonParser json, String text) throws IOException {
        int start = (int) json.currentTokenLocation().getCharOffset();
        json.skipChildren();
        json.finishToken();
        return text.substring(start, (int) json.currentLocation().getCharOffset());
    }

    private static Object parse(String text) throws IOException {
        try (JsonParser json = Json.FACTORY.createParser(text)) {
            json.nextToken();
            return Json.read(json);
        }
    }

    private static Object read(String text, Entities entities) throws IOException {
        try (JsonParser json = Json.FACTORY.createParser(text)) {
            json.nextToken();
            return new ValueReader(json, entities).read();
        }
    }

    /** A graph of the entities that a value shows. */
    private static Entities entitiesOf(String wire) throws IOException {
        FakeGraph graph = new FakeGraph();
        Map<String, Node> nodes = new HashMap<>();
        Object value = parse(wire);
        find(value, "$node").forEach(node -> addNode(graph, nodes, node));
        for (List<?> path : find(value, "$path")) {
            ((List<?>) path.get(0)).forEach(node -> addNode(graph, nodes, (List<?>) node));
            ((List<?>) path.get(1)).forEach(each -> addRelationship(graph, nodes, (List<?>) each));
        }
        find(value, "$relationship").forEach(each -> addRelationship(graph, nodes, each));
        return new Entities(graph.transaction());
    }

    private static void addNode(FakeGraph graph, Map<String, Node> nodes, List<?> parts) {
        String[] labels = ((List<?>) parts.get(1)).stream().map(String.class::cast).toArray(String[]::new);
        String id = (String) parts.get(0);
        nodes.put(id, graph.node(id, properties(parts.get(2)), labels));
    }

    private static void addRelationship(FakeGraph graph, Map<String, Node> nodes, List<?> parts) {
        Node start = nodes.computeIfAbsent((String) parts.get(2), id -> graph.node(id, Map.of()));
        Node end = nodes.computeIfAbsent((String) parts.get(3), id -> graph.node(id, Map.of()));
        graph.relationship((String) parts.get(0), (String) parts.get(1), start, end, properties(parts.get(4)));
    }

    @SuppressWarnings("unchecked")
    private static Map<String, Object> properties(Object plain) {
        return (Map<String, Object>) new TaggedValues(null).resolve(plain);
    }

    private static List<List<?>> find(Object value, String tag) {
        List<List<?>> found = new ArrayList<>();
        if (value instanceof List<?> list) {
            list.forEach(item -> found.addAll(find(item, tag)));
        } else if (value instanceof Map<?, ?> map) {
            map.forEach((key, inner) -> {
                if (key.equals(tag) && map.size() == 1 && inner instanceof List<?> parts) {
                    found.add(parts);
                } else {
                    found.addAll(find(inner, tag));
                }
            });
        }
        return found;
    }
}
