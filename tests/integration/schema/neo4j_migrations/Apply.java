import ac.simons.neo4j.migrations.core.Migrations;
import ac.simons.neo4j.migrations.core.MigrationsConfig;
import org.neo4j.driver.AuthTokens;
import org.neo4j.driver.GraphDatabase;

/** Runs neo4j-migrations on a folder of scripts and prints what it says of the result. */
class Apply {
    public static void main(String[] arguments) {
        var auth = AuthTokens.basic("neo4j", System.getenv("PASSWORD"));
        try (var driver = GraphDatabase.driver(arguments[0], auth)) {
            var config = MigrationsConfig.builder()
                    .withLocationsToScan("file://" + arguments[1]).build();
            var migrations = new Migrations(config, driver);
            migrations.apply();
            System.out.println(migrations.validate().getOutcome());
        }
    }
}
