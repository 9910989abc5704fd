"""Statements of rules in any words: what a text asks for and what it refuses."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Final

from sidecypher_procedures.rules.detector.tokens import (
    Token,
    contents,
    everyday,
    is_aside,
    root,
    sentences,
    tokens,
)
from sidecypher_procedures.rules.detector.values import amounts, separable_verb
from sidecypher_procedures.rules.detector.vocabulary import MAX_CHARACTERS, scan, vocabulary

_PARTS: Final = re.compile(r",\s+")
_TOPIC: Final = re.compile(r":\s+")
_BUT: Final = re.compile(r"(?i)[,\s]\s{0,3}(?:but|instead|so|then)(?:,\s{0,3}|\s)(?=\w)")
_MOST_STATEMENTS: Final = 20
_LONGEST_TOPIC: Final = 4
_RANKED: Final = 2
_SAYING: Final = {"verb", "not", "avoid", "negative", "permission", "waiver"}


@dataclass(frozen=True, slots=True)
class Statement:
    """One thing that a text asks for or refuses.

    Attributes:
        content: The roots of its meaningful words; of a known value, its slot and the value.
        wanted: Whether it is asked for.
        place: The words of where it holds: "in titles".
        condition: The words of when it holds: "when I ask".
        strength: Empty for an order or wish, else `permission`, `waiver`, or `rank` for the better
            or the worse of two ("tabs over spaces").
        amounts: Its numbers, as operator and value.
        beside: The content of the other one of two that are ranked.
        order: Content in the order of the text, with an empty text for a word without meaning.
        unknown: The content that no table has, which may be a "not" of another language.
    """

    content: frozenset[str]
    wanted: bool
    place: frozenset[str] = frozenset()
    condition: frozenset[str] = frozenset()
    strength: str = ""
    amounts: tuple[tuple[str, str], ...] = ()
    beside: frozenset[str] = frozenset()
    order: tuple[str, ...] = ()
    unknown: frozenset[str] = frozenset()

    @property
    def all(self) -> frozenset[str]:
        """Content and place."""
        return self.content | self.place


@lru_cache(maxsize=8192)
def statements(text: str) -> tuple[Statement, ...]:
    """Return what a text asks for and refuses; nothing of sentences that are not rules.

    Of a text with more than 400 characters nothing is read.

    Example:
        >>> [(sorted(each.content), each.wanted) for each in statements("Never squash commits")]
        [(['commit', 'merge_method=squash'], False)]
    """
    if len(text) > MAX_CHARACTERS:
        return ()
    lasting = (each for each in sentences(text) if not is_aside(each))
    found = [each for sentence in lasting for each in _of_sentence(sentence)]
    return tuple(each for each in found if each.content or each.amounts)[:_MOST_STATEMENTS]


def _of_sentence(sentence: str) -> Iterator[Statement]:
    place, rest = _topic(sentence)
    condition: frozenset[str] = frozenset()
    refused = wanted = False
    for part in _PARTS.split(_BUT.sub(", ", rest)):
        found = tokens(part)
        if not found:
            continue
        says = _says(found)
        if not says and found[0].roles & {"head", "wide"}:
            if "wide" in found[0].roles:
                condition |= contents(found)
            else:
                place |= contents(found)
            continue
        bare = refused and not _begins(found)
        if bare and found[0].text not in {"or", "nor"}:
            # "no A, B" may refuse B or ask for it; only after a wish does "and B" ask.
            if found[0].text != "and" or not wanted:
                continue
            bare = False
        for each in _of_part(found, refused=bare):
            yield replace(each, place=each.place | place, condition=each.condition | condition)
            refused, wanted = not each.wanted, wanted or each.wanted


def _begins(found: Sequence[Token]) -> bool:
    """Return whether a part begins a statement of its own: its first words say yes or no."""
    first = next((each for each in found if each.content or each.roles & _SAYING), None)
    return first is not None and bool(first.roles & _SAYING) and not first.entry.context


def _topic(sentence: str) -> tuple[frozenset[str], str]:
    """Return what is before a colon, if it is a topic ("Python: no tabs"), and the rest."""
    found = _TOPIC.search(sentence)
    if not found:
        return frozenset(), sentence
    before, rest = sentence[: found.start()], sentence[found.end() :]
    said = tokens(before)
    if len(said) <= _LONGEST_TOPIC and not _says(said):
        return contents(said), rest
    return frozenset(), f"{before}, {rest}"


def _says(found: Iterable[Token]) -> bool:
    """Return whether a part of a sentence has a verb or a negation, and so is a statement."""
    return any(each.roles & _SAYING and not each.entry.context for each in found)


@dataclass(slots=True)
class _Draft:
    """A statement while its words are read."""

    tokens: list[Token] = field(default_factory=list)
    place: list[Token] = field(default_factory=list)
    condition: list[Token] = field(default_factory=list)
    negative: bool = False
    doubtful: bool = False
    strength: str = ""

    @property
    def begun(self) -> bool:
        """Whether it has content."""
        return bool(contents(self.tokens))

    def finish(self, measured: tuple[tuple[str, str], ...]) -> Statement:
        """Return the statement, without the words that only name the slot of a value."""
        said, place = self.tokens, self.place
        slots = _slots([*said, *place])
        said = [each for each in said if not _names(each, slots)]
        place = [each for each in place if each.entry.context or not _names(each, slots)]
        if not contents(said):
            said, place = place, []
        return Statement(
            content=contents(said),
            wanted=not self.negative,
            place=contents(place),
            condition=contents(self.condition),
            strength=self.strength,
            amounts=measured,
            order=tuple(each.content for each in said),
            unknown=contents(each for each in [*said, *place] if not each.known),
        )


def _slots(found: Iterable[Token]) -> set[str]:
    """Return the slots whose values are among some tokens."""
    names = {each.content.partition("=")[0] for each in found if "=" in each.content}
    return names & vocabulary().slots.keys()


def _names(token: Token, slots: Iterable[str]) -> bool:
    """Return whether a word only names one of the slots: "deploy" beside "Heroku"."""
    return "=" not in token.content and any(
        slot in token.entry.topics or token.content in map(root, vocabulary().slots[slot].topics)
        for slot in slots
    )


_AUXILIARIES: Final = {
    *("do", "does", "did", "should", "must", "is", "are", "can", "could", "will", "would", "may"),
    *("might", "need", "shall", "has", "have", "was", "were", "please"),
}
_RANKING: Final = {
    *("prefer", "prefers", "favour", "favor", "rather", "better", "like", "more", "sooner"),
}


def _of_part(found: Sequence[Token], *, refused: bool) -> list[Statement]:
    """Read a part of a sentence between two commas."""
    if any("past" in each.roles for each in found) or found[0].text == "between":
        return []
    return _change(found) or _Reader(found, refused=refused).read()


class _Reader:
    """Reads the tokens of a part from left to right."""

    def __init__(self, found: Sequence[Token], *, refused: bool) -> None:
        self._tokens = found
        self._drafts = [_Draft(negative=refused)]
        # Where words go: into the statement, its place or its condition.
        self._into = "tokens"
        self._ranks = any(each.text in _RANKING for each in found)
        self._separable = separable_verb([each.entry for each in found])

    def read(self) -> list[Statement]:
        """Return the statements; two are told apart by "not", "instead of" and the like."""
        for number, token in enumerate(self._tokens):
            if self._is_contrast(number):
                self._drafts[-1].strength = self._drafts[-1].strength or "rank"
                self._begin(strength="rank")
            elif token.roles & {"permission", "waiver"}:
                self._soften(token)
            elif "not" in token.roles:
                self._deny(number)
            elif token.roles & {"avoid", "negative"} or number == self._separable:
                self._turn()
            elif "predicate" in token.roles and self._drafts[-1].begun:
                self._drafts[-1].negative = not self._drafts[-1].negative
            else:
                self._keep(token)
        for draft in self._drafts[:-1]:
            draft.place = draft.place or self._drafts[-1].place
        measured = _measured(self._tokens)
        # What two negations with words between them mean is not known: "never X without Y".
        return _ranked([each.finish(measured) for each in self._drafts if not each.doubtful])

    def _begin(self, strength: str = "") -> None:
        self._drafts.append(_Draft(negative=True, strength=strength))
        self._into = "tokens"

    def _soften(self, token: Token) -> None:
        draft = self._drafts[-1]
        if "waiver" in token.roles:
            draft.negative, draft.strength, self._into = True, "waiver", "tokens"
        elif not draft.negative:
            draft.strength = "permission"

    def _deny(self, number: int) -> None:
        draft, token = self._drafts[-1], self._tokens[number]
        auxiliary = number > 0 and self._tokens[number - 1].text in _AUXILIARIES
        if self._into == "condition":
            draft.condition.append(replace(token, content="not"))
        elif token.text == "not" and draft.begun and not auxiliary and self._into == "tokens":
            self._begin()
        else:
            draft.doubtful |= draft.negative and draft.begun
            draft.negative = True
            if not draft.begun:
                draft.strength = ""

    def _turn(self) -> None:
        """Read a verb that refuses, and asks for what it refuses after a "not"."""
        draft = self._drafts[-1]
        draft.doubtful |= draft.negative and draft.begun
        draft.negative = not draft.negative

    def _keep(self, token: Token) -> None:
        draft = self._drafts[-1]
        if "exception" in token.roles:
            self._into = "condition"
            draft.condition.append(replace(token, content="except"))
        elif "wide" in token.roles or token.text == "wherever":
            self._into = "condition"
            draft.condition.append(token)
        elif "head" in token.roles and self._into != "condition":
            self._into = "place"
        else:
            if self._into == "place" and "verb" in token.roles and not token.entry.context:
                self._into = "tokens"
            getattr(draft, self._into).append(token)

    def _is_contrast(self, number: int) -> bool:
        """Return whether a token is between what is better and what is worse."""
        token, after = self._tokens[number], self._tokens[number + 1 : number + 2]
        if not after or after[0].entry.number:
            return False
        if token.text in {"over", "to", "than"}:
            plain = token.text == "over" and not any("verb" in each.roles for each in self._tokens)
            return (self._ranks or plain) and bool(contents(self._tokens[:number]))
        return "contrast" in token.roles


def _ranked(found: list[Statement]) -> list[Statement]:
    """Let each of two that are ranked know the other one."""
    ranked = [each for each in found if each.strength == "rank"]
    if len(ranked) != _RANKED:
        return [replace(each, strength="") if each.strength == "rank" else each for each in found]
    one, other = ranked
    rest = [each for each in found if each.strength != "rank"]
    return [*rest, replace(one, beside=other.content), replace(other, beside=one.content)]


def _change(found: Sequence[Token]) -> list[Statement]:
    """Read "switched from X to Y" and "replaced X with Y": not X any more, but Y."""
    texts = [each.text for each in found]
    for number, word in enumerate(map(root, texts)):
        after = range(number + 1, len(texts))
        begin = end = None
        if word in everyday().change:
            begin = next((place for place in after if texts[place] == "from"), None)
            end = next((place for place in reversed(after) if texts[place] == "to"), None)
        elif word in everyday().replace:
            begin = number
            end = next((place for place in after if texts[place] in {"with", "by", "for"}), None)
        if begin is not None and end is not None and begin < end:
            old, new = contents(found[begin + 1 : end]), contents(found[end + 1 :])
            return [Statement(old, wanted=False), Statement(new, wanted=True)]
    return []


def _measured(found: Sequence[Token]) -> tuple[tuple[str, str], ...]:
    """Return the numbers of a part that say how many; a lone "one" or "zero" does not."""
    if not any(each.entry.number and not each.content for each in found):
        return ()
    marks = scan(" ".join(each.text for each in found))
    return tuple(
        (each.operator, each.value)
        for each in amounts(marks, range(len(marks)))
        if each.unit or each.operator != "exactly" or marks[each.number].text not in {"one", "zero"}
    )
