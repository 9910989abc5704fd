"""Modules of procedures, written as a test needs them."""

import textwrap


def good(name, value="", body="body"):
    """Return a module with one procedure, which answers `value`."""
    return textwrap.dedent(f"""
        from sidecypher import Row, procedure

        class Text(Row):
            value: str

        @procedure("{name}")
        def {body}() -> Text:
            return Text(value="{value}")
    """)


def write(folder, file, content):
    """Write a file into a folder, with the folders above it."""
    path = folder / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content)


SHIPPED = ("algo.", "code.", "github.", "rules.", "runs.", "session.", "sidecypher.")


def names(loaded):
    """The names of the folder's procedures, without those of installed packages."""
    return sorted(found.name for found in loaded.registry if not found.name.startswith(SHIPPED))


def answer(loaded, name):
    """What the body of a procedure without parameters answers."""
    return loaded.registry.get(name).function().value
