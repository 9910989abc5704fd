"""A client of the sidecar's HTTP side, as a program of this machine would write one."""

import httpx
import msgspec

from sidecypher.errors import CallError
from sidecypher.values.coders import decoder, encoder
from sidecypher.values.cypher import CypherType

_ANY = CypherType("ANY", nullable=True)
encode, decode = encoder(_ANY), decoder(_ANY)

STREAM = {"Accept": "application/x-ndjson"}


def raise_problem(told):
    """Raise what a problem tells."""
    raise CallError(
        told["detail"],
        code=told["code"],
        hint=told["hint"],
        retryable=told["retryable"],
        details=told["details"],
    )


class HttpClient:
    """Calls procedures by `POST /v1/call/{name}`, with the rows line by line.

    Attributes:
        http: The underlying client, whose requests bear the token for HTTP.
    """

    def __init__(self, port, token, timeout=30.0):
        self._timeout = timeout
        self.http = httpx.Client(
            base_url=f"http://127.0.0.1:{port}",
            headers={"Authorization": f"Bearer {token.decode()}"},
            trust_env=False,
            timeout=60,
            verify=False,  # it is plain HTTP; reading certificates would cost 200 ms
        )

    def rows(self, name, *arguments):
        """Yield the rows of a call; closing the iterator closes the connection."""
        with self.http.stream(
            "POST",
            f"/v1/call/{name}",
            params={"timeout": self._timeout},
            content=msgspec.json.encode([encode(argument) for argument in arguments]),
            headers={"Content-Type": "application/json", **STREAM},
        ) as response:
            if response.status_code != 200:
                response.read()
                raise_problem(response.json())
            for line in response.iter_lines():
                [(kind, told)] = msgspec.json.decode(line).items()
                if kind == "error":
                    raise_problem(told)
                if kind == "row":
                    yield [decode(value) for value in told.values()]

    def value(self, name, *arguments):
        """Return the value of a function."""
        sent = [encode(argument) for argument in arguments]
        answer = self.post(f"/v1/evaluate/{name}", sent)
        if answer.status_code != 200:
            raise_problem(answer.json())
        return decode(answer.json()["value"])

    def post(self, path, arguments, **more):
        """Send arguments and return the response."""
        return self.http.post(path, json=arguments, **more)

    def close(self):
        self.http.close()
