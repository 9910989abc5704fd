package io.sidecypher.core;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The caller's trace context goes to the sidecar, if the operator wants it. */
@Timeout(60)
class TraceTests {
    private static final String CONTEXT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

    @TempDir Path runDir;

    private final AtomicInteger asked = new AtomicInteger();

    private String sent(Object inMetadata, String... settings) throws Exception {
        FakeSidecar.Script script = (peer, method, json) ->
                peer.rows(json, "[[\"" + FakeSidecar.member(json, "traceparent") + "\"]]", false);
        try (FakeSidecar sidecar = new FakeSidecar(script).announce(runDir)) {
            Harness harness = new Harness(runDir, settings);
            Map<String, Object> row = new HashMap<>();
            row.put("traceparent", inMetadata);
            harness.tx = Harness.transaction((cypher, parameters) -> {
                asked.incrementAndGet();
                return List.of(row);
            }, () -> {});
            return (String) harness.echo(1L);
        }
    }

    @Test
    void theContextOfTheMetadataIsSent() throws Exception {
        assertEquals(CONTEXT, sent(CONTEXT, "TRACE_CONTEXT=true"));
    }

    @Test
    void whatIsNoContextIsNotSent() throws Exception {
        for (Object other : new Object[] {null, "", 7L, CONTEXT + "0", CONTEXT.toUpperCase(java.util.Locale.ROOT)}) {
            assertEquals("", sent(other, "TRACE_CONTEXT=true"));
        }
    }

    @Test
    void withoutTheSettingNobodyAsks() throws Exception {
        assertEquals("", sent(CONTEXT));
        assertEquals(0, asked.get());
    }
}
