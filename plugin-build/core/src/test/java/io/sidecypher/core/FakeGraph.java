package io.sidecypher.core;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.neo4j.graphdb.Label;
import org.neo4j.graphdb.Node;
import org.neo4j.graphdb.NotFoundException;
import org.neo4j.graphdb.Relationship;
import org.neo4j.graphdb.RelationshipType;
import org.neo4j.graphdb.Transaction;

/** A few entities, and the transaction that finds them by their element ids. */
final class FakeGraph {
    private final Map<String, Object> entities = new HashMap<>();

    Node node(String id, Map<String, Object> properties, String... labels) {
        return entity(Node.class, id, Map.of(
                "getLabels", List.of(labels).stream().map(Label::label).toList(),
                "getAllProperties", properties));
    }

    Relationship relationship(String id, String type, Node start, Node end, Map<String, Object> properties) {
        return entity(Relationship.class, id, Map.of(
                "getType", RelationshipType.withName(type),
                "getStartNode", start,
                "getEndNode", end,
                "getAllProperties", properties));
    }

    void delete(Node node) {
        entities.remove(node.getElementId());
    }

    Transaction transaction() {
        return Harness.proxy(Transaction.class, (name, arguments) -> switch (name) {
            case "getNodeByElementId" -> find(Node.class, (String) arguments[0]);
            case "getRelationshipByElementId" -> find(Relationship.class, (String) arguments[0]);
            default -> throw new UnsupportedOperationException(name);
        });
    }

    private <T> T find(Class<T> type, String id) {
        if (!id.contains(":")) {
            throw new IllegalArgumentException("Element ID " + id + " has an unexpected format.");
        }
        if (!type.isInstance(entities.get(id))) {
            throw new NotFoundException(id);
        }
        return type.cast(entities.get(id));
    }

    private <T> T entity(Class<T> type, String id, Map<String, Object> facts) {
        Map<String, Object> answers = new TreeMap<>(facts);
        answers.put("getElementId", id);
        answers.put("toString", id);
        answers.put("hashCode", id.hashCode());
        T entity = Harness.proxy(type, (name, arguments) -> {
            if (name.equals("equals")) {
                return arguments[0] != null && arguments[0].toString().equals(id);
            }
            if (name.startsWith("getLabels") || name.equals("getType")) {
                find(type, id);
            }
            return answers.get(name);
        });
        entities.put(id, entity);
        return entity;
    }
}
