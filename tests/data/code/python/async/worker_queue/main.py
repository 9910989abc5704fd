import asyncio


async def producer(queue, jobs):
    for job in jobs:
        await queue.put(job)
    await queue.put(None)


async def consumer(queue, handle):
    results = []
    while (job := await queue.get()) is not None:
        results.append(await handle(job))
    return results


async def double(job):
    await asyncio.sleep(0)
    return job * 2


async def describe(job):
    return f"job {job}"


async def run(jobs, handle):
    queue = asyncio.Queue()
    feeding = asyncio.create_task(producer(queue, jobs))
    results = await consumer(queue, handle)
    await feeding
    return results


async def main():
    print(await run([1, 2], double))
    print(await run([3], handle=describe))


asyncio.run(main())
