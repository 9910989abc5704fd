package io.sidecypher.core;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The environment goes before sidecypher.conf, that before the defaults, and a wrong setting is named. */
class SettingsTests {
    @TempDir Path conf;

    @Test
    void theEnvironmentGoesBeforeTheFile() throws Exception {
        Files.writeString(conf.resolve("sidecypher.conf"), "run_dir=/a\npool_size = 3\n");
        Settings settings = Settings.of(Map.of("SIDECYPHER_RUN_DIR", "/b"), conf);
        assertEquals(Path.of("/b"), settings.runDir());
        assertEquals(3, settings.poolSize());
        assertEquals(16 << 20, settings.maxLineBytes());
    }

    @Test
    void nothingNeedsToBeSet() {
        Settings settings = Settings.of(Map.of(), conf);
        assertNull(settings.runDir());
        assertEquals(16, settings.poolSize());
    }

    @Test
    void anUnknownOrWrongSettingIsNamed() throws Exception {
        Files.writeString(conf.resolve("sidecypher.conf"), "pol_size=3\n");
        assertTrue(assertThrows(IllegalArgumentException.class, () -> Settings.of(Map.of(), conf))
                .getMessage().contains("pol_size"));
        for (String wrong : new String[] {"0", "many", "-1", "99999999999"}) {
            assertEquals("the setting pool_size must be a whole number from 1 to 256",
                    assertThrows(IllegalArgumentException.class,
                            () -> Settings.of(Map.of("SIDECYPHER_POOL_SIZE", wrong), null)).getMessage());
        }
    }

    @Test
    void aWrongFlagOrRuleIsNamed() {
        for (String wrong : new String[] {"AVAILABILITY=x", "AVAILABILITY=a.b=MAYBE", "AVAILABILITY=a*b=OFF", "TRACE_CONTEXT=1"}) {
            String[] parts = wrong.split("=", 2);
            String told = assertThrows(IllegalArgumentException.class,
                    () -> Settings.of(Map.of("SIDECYPHER_" + parts[0], parts[1]), null)).getMessage();
            assertTrue(told.startsWith("the setting " + parts[0].toLowerCase(java.util.Locale.ROOT) + " must be"), told);
        }
        assertTrue(Settings.of(Map.of("SIDECYPHER_TRACE_CONTEXT", "True"), null).traceContext());
    }

    @Test
    void theConfFolderIsTheServersOwn() {
        assertEquals(Path.of("/x"), Settings.confFolder(Map.of("NEO4J_CONF", "/x"), "Main --config-dir=/y"));
        assertEquals(Path.of("/my conf"),
                Settings.confFolder(Map.of(), "Main --home-dir=/h --config-dir=/my conf --console-mode"));
        assertNull(Settings.confFolder(Map.of(), "Main"));
    }
}
