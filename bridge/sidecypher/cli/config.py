"""`sidecypher config`."""

import os
from typing import Any, Final
from urllib.parse import urlsplit

from pydantic import SecretStr

from sidecypher.cli.options import AsJson, Config, Home, Lane, Procedures
from sidecypher.cli.output import show_json, show_next, show_table
from sidecypher.host.settings import PREFIX, Settings, read_settings

_HIDDEN: Final = "(not shown)"


def config(
    home: Home = None,
    procedures: Procedures = None,
    config: Config = None,
    lane: Lane = None,
    as_json: AsJson = False,
) -> None:
    """Show every setting with its value and origin.

    `from` is `default`, `Neo4j's variables`, `file`, `environment` or `option`; each overrides
    those before it. Passwords are never shown. Variables that the plugin or procedures read are
    listed by name only.

    | member | meaning |
    |---|---|
    | `name` | the [setting](settings.md), or the variable of another |
    | `value` | its value |
    | `from` | where it comes from |

    ```sh
    sidecypher config
    SIDECYPHER_LOG_LEVEL=DEBUG sidecypher config --json
    ```
    """
    flags = {"home": home, "procedures": procedures, "lane": lane}
    settings, origins = read_settings(flags, config=config)
    rows = [
        {"name": name, "value": _shown(name, getattr(settings, name)), "from": origins[name]}
        for name in Settings.model_fields
    ]
    rows += [
        {"name": name, "value": _HIDDEN, "from": "environment"} for name in _variables_of_others()
    ]
    if as_json:
        show_json(rows)
    else:
        show_table("Settings", ["name", "value", "from"], (row.values() for row in rows))
        show_next("sidecypher up", "starts Neo4j and the sidecar with them")


def _shown(name: str, value: Any) -> Any:
    if name == "maven_url":
        return _without_user(value)
    match value:
        case SecretStr():
            return _HIDDEN
        case tuple():
            return [str(each) for each in value]
        case None | bool() | int() | float():
            return value
    return str(value)


def _without_user(url: str) -> str:
    """Hide the part before the host; a setting has no other `@`."""
    parts = urlsplit(url)
    _, at, host = parts.netloc.rpartition("@")
    return parts._replace(netloc=f"{_HIDDEN}@{host}").geturl() if at else url


def _variables_of_others() -> list[str]:
    own = {PREFIX + name.upper() for name in Settings.model_fields}
    return sorted(name for name in os.environ if name.startswith(PREFIX) and name not in own)
