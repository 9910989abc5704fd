"""What makes rows void that Neo4j's plugin keeps for `@procedure(..., cache=...)`."""

from typing import Final

from sidecypher.host.epochs import Epochs

_opened: Final[list[Epochs]] = []


def share_epochs(epochs: Epochs) -> None:
    """Have `invalidate` write to the epochs of a sidecar, until `unshare_epochs`."""
    _opened.append(epochs)


def unshare_epochs(epochs: Epochs) -> None:
    """End what `share_epochs` began."""
    _opened.remove(epochs)


def invalidate(*tags: str) -> None:
    """Make rows void that Neo4j keeps with one of these tags, for all sidecars and at once.

    Call it after the data has changed: a call that begins later sees the new data. Rows have the
    tags that their function gave to `Context.cache`. Outside of a sidecar it has no effect, since
    nothing is kept.

    Args:
        tags: For example `customer/17`; other tags may become void too.

    Raises:
        TypeError: A tag is not text.

    Example:
        >>> invalidate("customer/17", "customers")
    """
    check_tags(tags)
    for epochs in _opened:
        epochs.replace(tags)


def invalidate_all() -> None:
    """Make all rows void that Neo4j keeps."""
    for epochs in _opened:
        epochs.replace_all()


def check_tags(tags: tuple[object, ...]) -> None:
    """Refuse a tag that is not text.

    Raises:
        TypeError: It names the type.
    """
    for tag in tags:
        if not isinstance(tag, str):
            raise TypeError(f"A tag is text such as 'customer/17', not {type(tag).__name__}")
