"""The picture of the schema."""

from docs.pages import ROOT

from schema_picture import draw, read_cards


def test_the_picture_in_the_pages_is_that_of_the_files():
    """docs/schema.svg is what `make reference` writes."""
    assert (ROOT / "docs/schema.svg").read_text(encoding="utf-8") == draw(read_cards())


def test_the_picture_has_labels_keys_and_relationships():
    """A card tells what is unique, what is looked up, and where relationships lead."""
    [card] = [card for card in read_cards() if card.label == "Repository"]

    assert card.keys == ["id"]
    assert card.indexes == ["owner, name", "fullNameKey"]
    assert card.relationships == ["HAS_ISSUES → Issue", "HAS_PRS → PullRequest", "OWNED_BY → User"]


def test_every_label_of_a_relationship_has_a_card():
    """A label that nothing is unique or looked up of is drawn too."""
    labels = {card.label for card in read_cards()}

    assert {"ToolResult", "Comment", "AIAgent"} <= labels
