package io.sidecypher.core;

import com.fasterxml.jackson.core.JsonGenerator;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.neo4j.graphdb.Label;
import org.neo4j.graphdb.Node;
import org.neo4j.graphdb.NotFoundException;
import org.neo4j.graphdb.Path;
import org.neo4j.graphdb.Relationship;
import org.neo4j.graphdb.Transaction;

/**
 * Nodes, relationships and paths on the wire. They are sent as snapshots. A snapshot that comes back
 * becomes the entity of the caller's transaction with the same element id.
 */
final class Entities {
    private final Transaction tx;

    /**
     * @param tx the transaction in which received entities are looked up
     */
    Entities(Transaction tx) {
        this.tx = tx;
    }

    Node node(String elementId) {
        try {
            return tx.getNodeByElementId(elementId);
        } catch (NotFoundException | IllegalArgumentException notThere) {
            throw ValueProblem.missingEntity("holds a NODE that is deleted or not of this database and transaction");
        }
    }

    Relationship relationship(String elementId) {
        try {
            return tx.getRelationshipByElementId(elementId);
        } catch (NotFoundException | IllegalArgumentException notThere) {
            throw ValueProblem.missingEntity(
                    "holds a RELATIONSHIP that is deleted or not of this database and transaction");
        }
    }

    Path path(List<String> nodes, List<String> relationships) {
        return new CypherPath(
                nodes.stream().map(this::node).toList(), relationships.stream().map(this::relationship).toList());
    }

    static void write(JsonGenerator json, Node node) throws IOException {
        json.writeStartObject();
        json.writeFieldName("$node");
        writeSnapshot(json, node);
        json.writeEndObject();
    }

    static void write(JsonGenerator json, Relationship relationship) throws IOException {
        json.writeStartObject();
        json.writeFieldName("$relationship");
        writeSnapshot(json, relationship);
        json.writeEndObject();
    }

    static void write(JsonGenerator json, Path path) throws IOException {
        json.writeStartObject();
        json.writeArrayFieldStart("$path");
        json.writeStartArray();
        for (Node node : path.nodes()) {
            writeSnapshot(json, node);
        }
        json.writeEndArray();
        json.writeStartArray();
        for (Relationship relationship : path.relationships()) {
            writeSnapshot(json, relationship);
        }
        json.writeEndArray();
        json.writeEndArray();
        json.writeEndObject();
    }

    private static void writeSnapshot(JsonGenerator json, Node node) throws IOException {
        try {
            json.writeStartArray();
            json.writeString(node.getElementId());
            json.writeStartArray();
            for (String label : sortedLabels(node)) {
                json.writeString(Json.wellFormed(label));
            }
            json.writeEndArray();
            writeProperties(json, node.getAllProperties());
            json.writeEndArray();
        } catch (NotFoundException deleted) {
            throw ValueProblem.missingEntity("holds a NODE that this transaction has deleted");
        }
    }

    private static void writeSnapshot(JsonGenerator json, Relationship relationship) throws IOException {
        try {
            json.writeStartArray();
            json.writeString(relationship.getElementId());
            json.writeString(Json.wellFormed(relationship.getType().name()));
            json.writeString(relationship.getStartNode().getElementId());
            json.writeString(relationship.getEndNode().getElementId());
            writeProperties(json, relationship.getAllProperties());
            json.writeEndArray();
        } catch (NotFoundException deleted) {
            throw ValueProblem.missingEntity("holds a RELATIONSHIP that this transaction has deleted");
        }
    }

    private static void writeProperties(JsonGenerator json, Map<String, Object> properties) throws IOException {
        try {
            ValueWriter.write(json, properties);
        } catch (ValueProblem problem) {
            for (Map.Entry<String, Object> property : properties.entrySet()) {
                if (Kind.VECTOR.accepts(property.getValue())) {
                    String name = property.getKey();
                    throw new ValueProblem("holds an entity whose property `" + name + "` is a VECTOR, which cannot"
                            + " cross to Python: pass `" + Kind.toList(property.getValue()) + "(n." + name
                            + ")` and the other properties you need instead of the entity `n`");
                }
            }
            throw problem;
        }
    }

    private static Iterable<String> sortedLabels(Node node) {
        List<String> names = new ArrayList<>();
        for (Label label : node.getLabels()) {
            names.add(label.name());
        }
        names.sort(null);
        return names;
    }
}
