"""A sender of webhooks that signs as GitHub does, and GitHub's own examples of what it sends."""

import hmac
import json

import httpx

SECRET = "ein Geheimnis mit Ümläuten"

SECRET_PART = "ein Geheimnis mit"
"""What stays of the secret where a log escapes umlauts."""


def sign(body, secret=SECRET, digest="sha256"):
    """Return the value of the header that proves who sent the body."""
    return f"{digest}=" + hmac.digest(secret.encode(), body, digest).hex()


def examples(folder):
    """Return every recorded payload as (event, payload)."""
    [index] = folder.glob("**/webhooks-examples/api.github.com/index.json")
    return [
        (event["name"], payload)
        for event in json.loads(index.read_bytes())
        for payload in event["examples"]
    ]


class Sender:
    """Posts to `/webhooks/github` of a sidecar, as the proxy of a host of another name does."""

    def __init__(self, port):
        self._http = httpx.Client(
            base_url=f"http://127.0.0.1:{port}",
            headers={"Host": "hooks.example.com", "User-Agent": "GitHub-Hookshot/044aadd"},
            trust_env=False,
            timeout=30,
            verify=False,
        )

    def post(self, body, **headers):
        """Post bytes; a header that is None is left out."""
        named = {
            "content-type": "application/json",
            "x-github-event": "issues",
            "x-github-delivery": "72d3162e-cc78-11e3-81ab-4c9367dc0958",
            "x-hub-signature-256": sign(body),
        } | {name.replace("_", "-"): value for name, value in headers.items()}
        sent = {name: value for name, value in named.items() if value is not None}
        return self._http.post("/webhooks/github", content=body, headers=sent)

    def deliver(self, event, payload, delivery):
        """Post what GitHub would."""
        body = json.dumps(payload).encode()
        return self.post(body, x_github_event=event, x_github_delivery=delivery)

    def request(self, method, path="/webhooks/github", **options):
        """Send any other request."""
        return self._http.request(method, path, **options)

    def close(self):
        self._http.close()
