"""The process that `sidecypher sync postgres run` is."""

import asyncio
import signal
from contextlib import AsyncExitStack
from pathlib import Path

from sidecypher.cli.packages import service_log
from sidecypher_procedures.sync.exposition import serve_metrics
from sidecypher_procedures.sync.graph import open_graph
from sidecypher_procedures.sync.postgres.connection import ask_postgres
from sidecypher_procedures.sync.postgres.metrics import WorkerMetrics
from sidecypher_procedures.sync.postgres.schema import check_schema
from sidecypher_procedures.sync.postgres.settings import PREFIX, PostgresSettings
from sidecypher_procedures.sync.postgres.worker import Worker


def serve(url: str, *, home: Path | None, config: Path | None, database: str | None = None) -> None:
    """Write events until SIGTERM or SIGINT.

    Raises:
        SyncSettingsError: A setting or the address of PostgreSQL cannot be used.
        PostgresUnavailable: PostgreSQL cannot be reached, or refuses the user.
        PostgresUnsuitable: The tables are missing or of another version.
    """
    schema = PostgresSettings.load().namespace
    ask_postgres(url, lambda conn: check_schema(conn, schema))
    asyncio.run(_serve(url, home, config, database))


async def _serve(url: str, home: Path | None, config: Path | None, database: str | None) -> None:
    settings = PostgresSettings.load()
    log = service_log(home=home, config=config)
    async with AsyncExitStack() as stack:
        client = await open_graph(stack, log, home, config, database)
        worker = Worker(url, client, log)
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, worker.stop)
        log.info("sync.started")
        if settings.metrics_port is not None:
            metrics = WorkerMetrics(url, settings.namespace, worker.counts)
            variable = f"{PREFIX}METRICS_PORT"
            port = serve_metrics(metrics, settings.metrics_port, variable=variable)
            log.info("sync.metrics", port=port)
            reading = asyncio.create_task(metrics.keep_reading())
            stack.callback(reading.cancel)
        await worker.run()
        log.info("sync.stopped", written=worker.counts.written)
