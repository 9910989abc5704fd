"""Write docs/cli.md from the help of the commands: `make reference`."""

import inspect
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from sidecypher.cli.commands import all_commands

_PAGE: Final = Path(__file__).parents[1] / "docs/cli.md"
_HEAD: Final = """\
# The command `sidecypher`

Results go to standard output, everything else to standard error. Exit codes: 0 done, 1 it failed, 2
the command line or a setting cannot be understood, 130 it was interrupted by Ctrl-C, 143 by
SIGTERM, 129 by SIGHUP. An error is printed as
*error*, *cause* where there is one, and *hint*; [errors.md](errors.md) explains the codes. Most
commands end with a line on standard error that names the command that most people need next;
`--json` omits it.

An option overrides a [setting](settings.md) from the environment, which overrides one from the TOML
file. Every command takes `--help` or `-h`. With `NO_COLOR` in the environment nothing is coloured.
While a command works, a terminal shows what it does and for how long. Nothing moves on a pipe, with
`NO_COLOR` or with `--json`.

## Completion

Your shell can complete commands and options. It must be Bash, Zsh, Fish or PowerShell. Run this
once, then open a new terminal:

```text
sidecypher --install-completion
```

For example, the Tab key turns *sidecypher pl* into *sidecypher plugin*. To install the script
yourself, print it:

```text
sidecypher --show-completion > ~/.local/share/bash-completion/completions/sidecypher
```
"""


def reference() -> str:
    """Return the page: each command with its help, arguments and options."""
    commands = every_command(all_commands())
    return "\n".join([_HEAD, *(_section(name, command) for name, command in commands)])


def every_command(given: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield commands by full name; a group only if it does something itself."""
    for name, command in given.items():
        verbs = getattr(command, "commands", None)
        if verbs is None or command.invoke_without_command:
            yield name, command
        yield from every_command({f"{name} {verb}": each for verb, each in (verbs or {}).items()})


def _section(name: str, command: Any) -> str:
    table = _table([each for each in command.params if each.name != "help"])
    return f"## `sidecypher {name}`\n\n{inspect.cleandoc(command.help)}\n{table}"


def _table(parameters: list[Any]) -> str:
    if not parameters:
        return ""
    has_arguments = any(each.param_type_name == "argument" for each in parameters)
    head = "argument or option" if has_arguments else "option"
    return "\n".join(["", f"| {head} | meaning |", "|---|---|", *map(_row, parameters), ""])


def _row(parameter: Any) -> str:
    is_argument = parameter.param_type_name == "argument"
    spellings = [parameter.name] if is_argument else [*parameter.opts, *parameter.secondary_opts]
    named = ", ".join(f"`{each}`" for each in spellings)
    return f"| {named} | {parameter.help.removesuffix('.')}{_default(parameter)} |"


def _default(parameter: Any) -> str:
    match parameter.default:
        case bool():
            return "; by default yes" if parameter.default else ""
        case int() | float():
            return f"; by default {parameter.default:g}"
    return ""


if __name__ == "__main__":
    _PAGE.write_text(reference(), encoding="utf-8")
