"""Vectors of texts, by an API of OpenAI's shape."""

from collections.abc import Sequence
from typing import Final, Protocol

import httpx

from sidecypher_procedures.code.errors import EmbeddingFailed

_SECONDS: Final = 30.0


class Embedder(Protocol):
    """What makes vectors of texts."""

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """Return a vector for each text.

        Raises:
            EmbeddingFailed: There are none.
        """


class HttpEmbedder:
    """Asks an API: ``POST {url}/embeddings``, as OpenAI, Ollama, vLLM and others offer it."""

    def __init__(self, url: str, model: str, key: str = "") -> None:
        self._model = model
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        self._client = httpx.AsyncClient(base_url=url, headers=headers, timeout=_SECONDS)

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """Return a vector for each text.

        Raises:
            EmbeddingFailed: The API is away, refuses, or answers something else.
        """
        try:
            answer = await self._client.post(
                "/embeddings", json={"model": self._model, "input": [*texts]}
            )
            answer.raise_for_status()
            items = sorted(answer.json()["data"], key=lambda each: each["index"])
            vectors = [[float(each) for each in item["embedding"]] for item in items]
        except httpx.HTTPStatusError as error:
            raise EmbeddingFailed(
                f"The embeddings' API has answered {error.response.status_code}"
            ) from None
        except httpx.HTTPError as error:
            raise EmbeddingFailed(
                f"The embeddings' API has not answered: {type(error).__name__}"
            ) from None
        except (ValueError, KeyError, TypeError):
            raise EmbeddingFailed("The embeddings' API has answered something else") from None
        if len(vectors) != len(texts):
            raise EmbeddingFailed("The embeddings' API has answered something else")
        return vectors

    async def stop(self) -> None:
        """Close the connections."""
        await self._client.aclose()
