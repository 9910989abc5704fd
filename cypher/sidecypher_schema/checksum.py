"""The checksum of a script, as the Java tool neo4j-migrations computes it.

That tool splits scripts in another way, but its checksums must be computed exactly, so that each
tool accepts what the other has recorded. The algorithm is that of the class
`DefaultCypherResource` in 2026, and a test compares the numbers with those of the tool.
"""

import re
import zlib
from typing import Final

_DELIMITER: Final = re.compile(r";(?:\r?\n|\r)")
_USE: Final = re.compile(r":use +[a-z][a-z\d.\-]{2,62}(?:;?(?:\r?\n|\r)?)?", re.IGNORECASE)
_JAVA_SPACE: Final = "".join(map(chr, range(33)))
"""Characters that Java's `String.trim()` removes."""


def checksum(text: str) -> str:
    """Return the CRC-32 of a script's statements, as a decimal number.

    Args:
        text: The script. Line ends of Windows count as those of Unix, so that a checkout there
            changes nothing; in the Java tool that is its option `autocrlf`.

    Example:
        >>> checksum("RETURN 1;\\nRETURN 2;\\n") == checksum("RETURN 1;\\r\\nRETURN 2")
        True
    """
    crc = 0
    for chunk in _DELIMITER.split(text.replace("\r\n", "\n")):
        statement = chunk.strip(_JAVA_SPACE).removesuffix(";").strip(_JAVA_SPACE)
        for part in (
            *(use.strip(_JAVA_SPACE) for use in _USE.findall(statement)),
            _USE.sub("", statement),
        ):
            crc = zlib.crc32(part.encode(), crc)
    return str(crc)
