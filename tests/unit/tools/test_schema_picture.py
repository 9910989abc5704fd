"""The picture of the schema."""

import re

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


def test_every_relationship_is_a_line_that_ends_at_a_card():
    """A line begins beside its text, and ends at the side of the card of its end label."""
    cards = read_cards()
    ends = [label for card in cards for labels in card.ends for label in labels]
    paths = re.findall(r'class="line".* d="M(\d+) \d+ C.* (\d+) \d+"', draw(cards))
    sides = set(re.findall(r'class="card" x="(\d+)"', draw(cards)))
    sides |= {str(int(left) + 330) for left in sides}

    assert len(paths) == len(ends) > 60
    assert {x for path in paths for x in path} <= sides
