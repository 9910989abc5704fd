package io.sidecypher.core;

import java.util.List;
import org.neo4j.graphdb.spatial.CRS;
import org.neo4j.graphdb.spatial.Coordinate;
import org.neo4j.graphdb.spatial.Point;

/** A POINT; Neo4j accepts any {@link Point}, but its own class is not public. */
record CypherPoint(System crs, double x, double y, double z) implements Point {
    /** The four coordinate systems of Neo4j, by its names. */
    enum System implements CRS {
        CARTESIAN(7203, 2, "cartesian", "sr-org"),
        CARTESIAN_3D(9157, 3, "cartesian-3d", "sr-org"),
        WGS_84(4326, 2, "wgs-84", "epsg"),
        WGS_84_3D(4979, 3, "wgs-84-3d", "epsg");

        private final int code;
        private final int dimensions;
        private final String type;
        private final String href;

        System(int code, int dimensions, String type, String table) {
            this.code = code;
            this.dimensions = dimensions;
            this.type = type;
            href = "https://spatialreference.org/ref/" + table + "/" + code + "/";
        }

        @Override
        public int getCode() {
            return code;
        }

        @Override
        public String getType() {
            return type;
        }

        @Override
        public String getHref() {
            return href;
        }

        private boolean isGeographic() {
            return this == WGS_84 || this == WGS_84_3D;
        }
    }

    private static final double MOST_LATITUDE = 90;

    /** Creates a point; values that Neo4j would refuse are refused here, where the column is known. */
    static CypherPoint of(long srid, double... coordinates) {
        for (System system : System.values()) {
            if (system.code == srid && system.dimensions == coordinates.length) {
                if (system.isGeographic() && !(Math.abs(coordinates[1]) <= MOST_LATITUDE)) {
                    throw new ValueProblem("holds a POINT whose latitude is not between -90 and 90");
                }
                return new CypherPoint(
                        system, coordinates[0], coordinates[1], coordinates.length > 2 ? coordinates[2] : 0);
            }
        }
        throw new ValueProblem("holds a POINT with another srid or number of coordinates than Cypher knows");
    }

    @Override
    public CRS getCRS() {
        return crs;
    }

    @Override
    public List<Coordinate> getCoordinates() {
        return List.of(crs.dimensions == 2 ? new Coordinate(x, y) : new Coordinate(x, y, z));
    }
}
