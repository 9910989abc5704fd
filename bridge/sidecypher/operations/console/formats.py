"""Numbers of the console as text."""

import math
from typing import Final

from sidecypher.telemetry.metrics import BUCKET_SECONDS

_THIN: Final = "\N{NARROW NO-BREAK SPACE}"


def duration(seconds: float | None) -> str:
    """Return seconds in the unit that reads best.

    Example:
        >>> duration(0.00025), duration(0.0125), duration(90.0), duration(None)
        ('0.25 ms', '12.5 ms', '90 s', '-')
    """
    if seconds is None:
        return "-"
    # Rounded before the unit is chosen: what is nearly a second is one.
    rounded = float(f"{seconds:.3g}")
    return f"{rounded * 1000:g} ms" if rounded < 1 else f"{rounded:g} s"


def bound(seconds: float | None) -> str:
    """Return an upper bound of seconds as text, or the last bucket's bound if it is exceeded.

    Example:
        >>> bound(0.005), bound(math.inf)
        ('≤ 5 ms', '> 30 s')
    """
    if seconds is None:
        return "-"
    if seconds == math.inf:
        return f"> {duration(BUCKET_SECONDS[-1])}"
    return f"≤ {duration(seconds)}"


def rate(value: float | None) -> str:
    r"""Return a number of calls per second.

    Example:
        >>> rate(0.0), rate(0.04), rate(12.345), rate(12345.0)
        ('0/s', '0.04/s', '12.3/s', '12\u202f300/s')
    """
    rounded = float(f"{value or 0.0:.3g}")
    return f"{f'{rounded:,.6g}'.replace(',', _THIN)}/s"


def count(value: int) -> str:
    r"""Return a number with its thousands apart.

    Example:
        >>> count(12), count(1234567)
        ('12', '1\u202f234\u202f567')
    """
    return f"{value:,}".replace(",", _THIN)


def size(value: int) -> str:
    """Return a number of bytes.

    Example:
        >>> size(12), size(45_600), size(7_000_000)
        ('12 B', '45.6 kB', '7 MB')
    """
    for limit, unit in ((10**9, "GB"), (10**6, "MB"), (10**3, "kB")):
        if value >= limit:
            return f"{float(f'{value / limit:.3g}'):g} {unit}"
    return f"{value} B"
