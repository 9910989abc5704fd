import asyncio


class Client:
    def __init__(self, name):
        self.name = name

    async def get(self, path):
        await self._connect()
        return f"{self.name}{path}"

    async def _connect(self):
        await asyncio.sleep(0)


async def main():
    client = Client("host")
    task = asyncio.create_task(client.get("/task"))
    pages = await asyncio.gather(client.get("/a"), client.get("/b"))
    print(pages, await task)


if __name__ == "__main__":
    asyncio.run(main())
