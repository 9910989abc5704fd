"""What GitHub answers, before anybody judges it."""

from dataclasses import dataclass
from datetime import datetime

import httpx

from sidecypher_procedures.github.settings import Credential


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer that is no redirect, read to its end.

    Attributes:
        status: Its status.
        headers: Its headers.
        content: Its body.
        credential_key: Whose answer it is: who proved the request, not who would prove one now.
        stops_until: When the limit ends that it is; later than it says if it is met repeatedly.
        is_elsewhere: Whether a redirect, of now or remembered, led to it: it may have another name.
    """

    status: int
    headers: httpx.Headers
    content: bytes
    credential_key: str = Credential(None).key
    stops_until: datetime | None = None
    is_elsewhere: bool = False
