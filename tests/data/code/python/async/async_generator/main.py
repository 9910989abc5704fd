import asyncio


async def ticks(count):
    for number in range(count):
        await pause()
        yield label(number)


async def pause():
    await asyncio.sleep(0)


def label(number):
    return f"tick {number}"


async def collect():
    async for tick in ticks(2):
        print(tick)
    return [tick async for tick in ticks(3)]


print(asyncio.run(collect()))
