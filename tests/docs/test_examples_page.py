"""The page about the examples shows their files as they are."""

from docs.pages import ROOT, blocks

EXAMPLES = ROOT / "docs/examples"
KINDS = ("python", "cypher", "text")


def files():
    return [
        file
        for file in sorted(EXAMPLES.rglob("*"))
        if file.is_file() and file.suffix in {".py", ".cypher"}
    ]


def test_every_file_of_an_example_is_on_the_page():
    """Each file is a block of the page, word for word, below a line that names it."""
    shown = {block.text for block in blocks(*KINDS, pages=[ROOT / "docs/examples.md"])}
    page = (ROOT / "docs/examples.md").read_text(encoding="utf-8")

    assert files()
    for file in files():
        assert file.read_text(encoding="utf-8") in shown, file.name
        assert f"`{file.relative_to(EXAMPLES).as_posix()}`:" in page
