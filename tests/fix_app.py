"""A GitHub App, and GitHub as it sees it."""

import hashlib
import json
from datetime import timedelta

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

_UNTIMED = {"verify_exp": False, "verify_iat": False}


def pem(key, encryption=None):
    """Write a private key as GitHub gives it to people."""
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.TraditionalOpenSSL,
        encryption or serialization.NoEncryption(),
    )


@pytest.fixture(scope="session")
def app_key():
    """The private key of the App."""
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


@pytest.fixture
def app_settings(app_key, tmp_path):
    """The settings of the App, whose installation is number 42."""
    file = tmp_path / "app.pem"
    file.write_bytes(pem(app_key))
    return {"app_id": "12345", "app_installation_id": 42, "app_key_file": file}


class Installation:
    """GitHub as an App sees it: gives tokens for an hour, and an issue to who has one.

    Attributes:
        tokens: Those it gave.
        refused: Those of them that it accepts no more.
        refusal: What it says instead of giving a token.
        proof: What the App last signed.
    """

    def __init__(self, github, answering, time, key, recorded):
        self.github = github
        self.answering = answering
        self.time = time
        self._key = key
        self._recorded = recorded
        self.tokens = []
        self.refused = set()
        self.refusal = None

    def __call__(self, request):
        token = request.headers["authorization"].removeprefix("Bearer ")
        if request.path.endswith("/app/installations/42/access_tokens"):
            return self.refusal or self._new(token)
        if token not in self.tokens or token in self.refused:
            return self.answering(401, body=b'{"message": "Bad credentials"}')
        tag = f'"{hashlib.sha256(token.encode()).hexdigest()}"'
        if request.headers.get("if-none-match") == tag:
            return self.answering(304, {"ETag": tag})
        where = request.path.partition("/repos/")[2]
        number = int(where.rpartition("/")[2])
        own = {"id": number, "node_id": f"I_{number}", "number": number, "title": "A"}
        own["html_url"] = f"https://github.com/{where}"
        return self.answering.of({**self._recorded, **own}, ETag=tag)

    def _new(self, proof):
        self.proof = jwt.decode(
            proof, self._key.public_key(), algorithms=["RS256"], options=_UNTIMED
        )
        self.tokens.append(f"ghs_{len(self.tokens)}." + "x" * 500)
        expires = (self.time.now() + timedelta(hours=1)).strftime("%Y-%m-%dT%H:%M:%SZ")
        body = {"token": self.tokens[-1], "expires_at": expires, "permissions": {}}
        headers = {"Content-Type": "application/json; charset=utf-8"}
        return self.answering(201, headers, json.dumps(body).encode())


@pytest.fixture
def installation_on(answering, time, app_key, recordings):
    """Give what makes a stand-in GitHub with one installation, which sees issues titled A."""

    def make(server):
        recorded = recordings.get("/repos/codertocat/hello-world/issues/1")
        server.answer = Installation(server, answering, time, app_key, recorded)
        return server.answer

    return make
