package org.neo4j.graphdb;

/** The public interface of Neo4j 2026, which the 5.26 API that the core is compiled against does not have. */
public interface Vector {
    enum CoordinateType {
        INTEGER8,
        FLOAT32
    }

    int dimensions();

    CoordinateType coordinateType();
}
