"""Settings of the `code` procedures."""

from pathlib import Path
from typing import Annotated, Final

from pydantic import Field, SecretStr

from sidecypher_procedures.code.embeddings import HttpEmbedder
from sidecypher_procedures.code.errors import CodeSettingsError, PathNotAllowed
from sidecypher_procedures.environment import EnvironmentSettings, settings_check

PREFIX: Final = "SIDECYPHER_CODE_"


class CodeSettings(EnvironmentSettings, env_prefix=PREFIX):
    """Settings from the environment variables with the prefix ``SIDECYPHER_CODE_``.

    Attributes:
        roots: The folders that `code.index` may read, separated by colons; none by default.
        embeddings_url: The base URL of an API of OpenAI's shape, such as ``https://HOST/v1``.
        embeddings_model: The model that makes embeddings.
        embeddings_key: The API's key.

    Example:
        >>> CodeSettings(roots="/srv/code:/home/ann/src").folders
        (PosixPath('/srv/code'), PosixPath('/home/ann/src'))
    """

    refusal = CodeSettingsError

    roots: Annotated[str, Field(max_length=10_000)] = ""
    embeddings_url: str | None = None
    embeddings_model: str = ""
    embeddings_key: SecretStr | None = None

    @property
    def folders(self) -> tuple[Path, ...]:
        """The folders that may be read."""
        return tuple(Path(root) for root in self.roots.split(":") if root)

    def allowed(self, path: str) -> Path:
        """Return a folder without symbolic links in its path, if it may be read.

        Raises:
            PathNotAllowed: It is not below one of `roots`, or is not a folder.
        """
        roots = [root.resolve() for root in self.folders]
        folder = Path(path)
        # What is outside of the roots may exist or not: callers learn nothing of it.
        if not folder.is_absolute() or not any(
            folder.resolve().is_relative_to(root) for root in roots
        ):
            raise PathNotAllowed(
                "The path is not an absolute path below one of the folders that may be read",
                hint=f"Set `{PREFIX}ROOTS` to the folders with your repositories.",
            )
        if not folder.is_dir():
            raise PathNotAllowed("The path is not a folder")
        return folder.resolve()


class Configuration:
    """The settings, read at the first call and shared by all calls of a sidecar."""

    def __init__(self) -> None:
        self.settings = settings = CodeSettings.load()
        key = settings.embeddings_key
        self.embedder = (
            HttpEmbedder(
                settings.embeddings_url,
                settings.embeddings_model,
                "" if key is None else key.get_secret_value(),
            )
            if settings.embeddings_url
            else None
        )

    async def stop(self) -> None:
        """Close the connections."""
        if self.embedder is not None:
            await self.embedder.stop()


CHECKS: Final = (settings_check("Code", "code.list"),)
