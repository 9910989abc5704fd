"""What looks like a secret is in no error, wherever its text came from."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidecypher.sdk.signature.fields import FieldError, Shape
from sidecypher_procedures.github.errors import GithubError, redacted
from sidecypher_procedures.github.options import FetchOptions

APP_TOKEN = "ghs_" + "aZ9.-_" * 86
PEM = "-----BEGIN RSA PRIVATE KEY-----\nMIIEsecret\nsecret==\n-----END RSA PRIVATE KEY-----"


@pytest.mark.parametrize("kind", ["ghp", "gho", "ghu", "ghs", "ghr"])
def test_tokens_of_every_kind_are_redacted(kind: str) -> None:
    """A token in the middle of a text disappears to its last character, and nothing else does."""
    assert redacted(f"a `{kind}_0123456789abcdefABCDEF` b") == "a `[redacted]` b"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (APP_TOKEN, "[redacted]"),
        (f"({APP_TOKEN})", "([redacted])"),
        ("github_pat_11ABC_x0y9", "[redacted]"),
        ("Authorization: Bearer abc.def\r\nHost: x", "[redacted]\r\nHost: x"),
        ("authorization: token 0123", "[redacted]"),
        ("b'Proxy-Authorization: Basic eDp5'", "b'[redacted]"),
        ("got bearer eyJhbGciOi.eyJpc3Mi.c2ln now", "got [redacted] now"),
        (f"a {PEM} b", "a [redacted] b"),
        (f"a {PEM} b {PEM} c", "a [redacted] b [redacted] c"),
        (f"a {PEM[:60]}", "a [redacted]"),
        ("GitHub does not accept the token for the issue `o/r#7`",) * 2,
        ("the bearer of bad news", "the [redacted] bad news"),
    ],
)
def test_the_forms_of_secrets(text: str, shown: str) -> None:
    """App tokens with dots, headers with their values, and PEM blocks, cut off ones too."""
    assert redacted(text) == shown


@given(before=st.text(), after=st.text(st.characters(exclude_categories=["L", "N", "P"])))
def test_no_surroundings_save_a_secret(before: str, after: str) -> None:
    """Whatever stands before and after, the secret itself is not shown."""
    for secret in (APP_TOKEN, "github_pat_11ABC_x0y9", PEM):
        assert secret not in redacted(before + secret + after)


def test_an_error_shows_no_secret_in_any_part() -> None:
    """Message, hint and details of every error are redacted when it is made."""
    error = GithubError(APP_TOKEN, hint=PEM, details={"wants": f"Bearer {APP_TOKEN}", "status": 1})

    assert error.details == {"wants": "[redacted]", "status": 1}
    for secret in (APP_TOKEN, "MIIEsecret"):
        assert secret not in f"{error!r}{error}{error.hint}{error.details}"


def test_a_token_given_as_an_option_is_not_shown() -> None:
    """Who mistakes the MAP of options for a place of tokens does not find it in the error."""
    token = "ghp_" + 36 * "a"
    with pytest.raises(FieldError) as caught:
        Shape(FetchOptions).read({token: 1})

    assert token not in f"{caught.value}{caught.value.hint}"
