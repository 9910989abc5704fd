"""The options MAP is checked before any call."""

import pytest

from sidecypher_procedures.github.errors import InvalidOption
from sidecypher_procedures.github.options import FetchOptions


def test_options_are_read_by_their_cypher_names() -> None:
    """Every option has its own field; null and absence give the default."""
    parsed = FetchOptions.parse({"maxAge": 0, "onError": "skip", "timeout": 1.5, "api": "rest"})

    assert parsed == FetchOptions(max_age=0.0, on_error="skip", timeout=1.5, api="rest")
    assert FetchOptions.parse({}) == FetchOptions.parse({"maxAge": None}) == FetchOptions()


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"api": "soap"}, "`api`"),
        ({"api": 1}, "`api`"),
        ({"maxage": 1}, "`maxage`"),
        ({"etag": None}, "`etag`"),
        ({"maxAge": -1}, "`maxAge`"),
        ({"maxAge": True}, "`maxAge`"),
        ({"maxAge": float("nan")}, "`maxAge`"),
        ({"maxAge": "60"}, "`maxAge`"),
        ({"timeout": 0}, "`timeout`"),
        ({"timeout": [1]}, "`timeout`"),
        ({"onError": "ignore"}, "`onError`"),
        ({"onError": ["null"]}, "`onError`"),
    ],
)
def test_unusable_options_are_refused_by_name(options: dict[str, object], named: str) -> None:
    """An unknown option or an unusable value is an error that names the option."""
    with pytest.raises(InvalidOption, match=named):
        FetchOptions.parse(options)


@pytest.mark.parametrize("value", ["rest", None])
def test_an_option_without_a_meaning_is_unknown(value: object) -> None:
    """A procedure refuses what could have no effect, and does not tell of it as known."""
    with pytest.raises(InvalidOption, match="no option `api`") as caught:
        FetchOptions.parse({"api": value}, ["state"], without=["api"])

    assert caught.value.hint == "Known: maxAge, onError, timeout, state."


def test_a_strange_option_name_is_not_shown() -> None:
    """A name that is no name may be anything, also a secret, and stays out of the text."""
    with pytest.raises(InvalidOption) as caught:
        FetchOptions.parse({"ghp_secret value": 1})

    assert "ghp_secret" not in caught.value.message
