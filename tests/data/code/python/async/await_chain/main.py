import asyncio


async def fetch(number):
    await asyncio.sleep(0)
    return convert(number)


def convert(number):
    return str(number)


async def fetch_all(numbers):
    return [await fetch(number) for number in numbers]


async def main():
    print(await fetch_all([1, 2, 3]))


asyncio.run(main())
