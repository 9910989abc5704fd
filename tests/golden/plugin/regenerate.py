"""Write the expected Java sources anew from the catalogues beside this file.

Run `python tests/golden/plugin/regenerate.py`, then read the difference before you keep it.
"""

from pathlib import Path

from sidecypher.protocol.catalogue import Catalogue
from sidecypher_plugin.generator import render


def main() -> None:
    """Replace each catalogue's folder of sources."""
    for file in sorted(Path(__file__).parent.glob("*.json")):
        folder = file.with_suffix("")
        folder.mkdir(exist_ok=True)
        for old in folder.glob("*.java"):
            old.unlink()
        for path, source in render(Catalogue.from_json(file.read_bytes())).items():
            (folder / Path(path).name).write_text(source, encoding="ascii")


if __name__ == "__main__":
    main()
