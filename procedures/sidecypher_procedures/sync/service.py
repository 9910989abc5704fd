"""The process that `sidecypher sync run` is."""

import asyncio
import signal
from contextlib import AsyncExitStack
from pathlib import Path

from sidecypher.cli.packages import service_log
from sidecypher_procedures.sync.changes.publisher import ChangePublisher
from sidecypher_procedures.sync.connection import check_server, open_async_redis
from sidecypher_procedures.sync.consumer import Consumer
from sidecypher_procedures.sync.exposition import serve_metrics
from sidecypher_procedures.sync.graph import open_graph
from sidecypher_procedures.sync.metrics import ConsumerMetrics
from sidecypher_procedures.sync.settings import PREFIX, SyncSettings


def serve(url: str, *, home: Path | None, config: Path | None, database: str | None = None) -> None:
    """Consume until SIGTERM or SIGINT.

    Raises:
        SyncSettingsError: A setting or the address of Redis cannot be used.
        RedisUnavailable: Redis cannot be reached.
        RedisUnsuitable: Redis would lose events.
    """
    asyncio.run(_serve(url, home, config, database))


async def _serve(url: str, home: Path | None, config: Path | None, database: str | None) -> None:
    settings = SyncSettings.load()
    log = service_log(home=home, config=config)
    async with AsyncExitStack() as stack:
        redis = await stack.enter_async_context(open_async_redis(url))
        for warning in await check_server(redis):
            log.warning("sync.redis", found=warning)
        client = await open_graph(stack, log, home, config, database)
        consumer = Consumer(redis, client, settings, log)
        changes = ChangePublisher(redis, client, settings, consumer.name, log)
        log.info("sync.started", consumer=consumer.name, partitions=settings.partitions)
        if settings.metrics_port is not None:
            metrics = ConsumerMetrics(consumer, changes)
            variable = f"{PREFIX}METRICS_PORT"
            port = serve_metrics(metrics, settings.metrics_port, variable=variable)
            log.info("sync.metrics", port=port)
            reading = asyncio.create_task(metrics.keep_reading(redis, settings.partitions))
            stack.callback(reading.cancel)
        await _until_stopped(consumer, changes)
        log.info("sync.stopped", written=consumer.counts.written, published=changes.published)


async def _until_stopped(*workers: Consumer | ChangePublisher) -> None:
    """Run all until SIGTERM or SIGINT, or until one has failed."""

    def stop() -> None:
        for worker in workers:
            worker.stop()

    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop)
    running = [asyncio.create_task(worker.run()) for worker in workers]
    await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
    stop()
    await asyncio.gather(*running)
