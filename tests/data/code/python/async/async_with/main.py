import asyncio


class Session:
    def __init__(self, name):
        self.name = name

    async def __aenter__(self):
        await self.open()
        return self

    async def __aexit__(self, *error):
        self.close()

    async def open(self):
        await asyncio.sleep(0)

    def close(self):
        print("closed", self.name)

    async def query(self, text):
        return f"{self.name}: {text}"


async def run():
    async with Session("db") as session:
        print(await session.query("select 1"))


asyncio.run(run())
