package io.sidecypher.core;

import java.util.ArrayList;
import java.util.Collections;
import java.util.Iterator;
import java.util.List;
import org.neo4j.graphdb.Entity;
import org.neo4j.graphdb.Node;
import org.neo4j.graphdb.Path;
import org.neo4j.graphdb.Relationship;

/** A PATH of entities of the caller's transaction; Neo4j accepts any {@link Path}, but cannot build one from parts. */
record CypherPath(List<Node> nodes, List<Relationship> relationships) implements Path {
    CypherPath {
        boolean fits = nodes.size() == relationships.size() + 1;
        for (int i = 0; fits && i < relationships.size(); i++) {
            Relationship step = relationships.get(i);
            Node from = nodes.get(i);
            Node to = nodes.get(i + 1);
            fits = step.getStartNode().equals(from) && step.getEndNode().equals(to)
                    || step.getStartNode().equals(to) && step.getEndNode().equals(from);
        }
        if (!fits) {
            throw new ValueProblem("holds a PATH whose relationships do not lead from node to node");
        }
    }

    @Override
    public Node startNode() {
        return nodes.get(0);
    }

    @Override
    public Node endNode() {
        return nodes.get(nodes.size() - 1);
    }

    @Override
    public Relationship lastRelationship() {
        return relationships.isEmpty() ? null : relationships.get(relationships.size() - 1);
    }

    @Override
    public Iterable<Relationship> reverseRelationships() {
        return reversed(relationships);
    }

    @Override
    public Iterable<Node> reverseNodes() {
        return reversed(nodes);
    }

    @Override
    public int length() {
        return relationships.size();
    }

    @Override
    public Iterator<Entity> iterator() {
        List<Entity> entities = new ArrayList<>();
        for (int i = 0; i < nodes.size(); i++) {
            entities.add(nodes.get(i));
            if (i < relationships.size()) {
                entities.add(relationships.get(i));
            }
        }
        return entities.iterator();
    }

    private static <T> List<T> reversed(List<T> list) {
        List<T> copy = new ArrayList<>(list);
        Collections.reverse(copy);
        return copy;
    }
}
