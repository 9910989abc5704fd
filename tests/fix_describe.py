"""Procedures and functions as the decorators describe them."""

from sidecypher import function, procedure
from sidecypher.sdk.decorators import DEFAULT_TIMEOUT


def describe(body, name, mode="READ", timeout=DEFAULT_TIMEOUT, **options):
    """Return what `@procedure` attaches to `body`, which stays as it was."""
    return _attached(procedure(name, mode=mode, timeout=timeout, **options), body)


def describe_function(body, name, timeout=DEFAULT_TIMEOUT, **options):
    """Return what `@function` attaches to `body`, which stays as it was."""
    return _attached(function(name, timeout=timeout, **options), body)


def _attached(decorate, body):
    before = dict(vars(body))
    described = decorate(body).__sidecypher_procedure__
    vars(body).clear()
    vars(body).update(before)
    return described
