"""The package `acme` of the guide of authors, with its command and its check."""

from docs.pages import ROOT, blocks
from fix_modules import write

_PAGE = ROOT / "docs/procedures-packages.md"


def _block(info, text):
    [found] = [each.text for each in blocks(info, pages=[_PAGE]) if text in each.text]
    return found


CHECKS = _block("python", "CHECKS =")
COMMANDS = _block("python", "run_cypher(")
_POINTS = _block("toml", "sidecypher.checks") + _block("toml", "sidecypher.commands")


def install_acme(folder, *, points=_POINTS, **modules):
    """Write the package into a folder of the import path, with the text of each of its modules."""
    write(folder, "acme/__init__.py", "")
    for name, text in modules.items():
        write(folder, f"acme/{name}.py", text)
    listed = points.replace("project.entry-points.", "").replace('"', "")
    write(folder, "acme-1.dist-info/METADATA", "Metadata-Version: 2.1\nName: acme\n")
    write(folder, "acme-1.dist-info/entry_points.txt", listed)
