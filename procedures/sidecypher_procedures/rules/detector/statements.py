"""Statements of rules in any words: what a text asks for and what it refuses."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Final

from sidecypher_procedures.rules.detector.tokens import (
    AFTER,
    ASK,
    BEFORE,
    NEEDS_APPROVAL,
    UNASKED,
    UNTIL,
    Token,
    contents,
    everyday,
    is_aside,
    root,
    sentences,
    tokens,
)
from sidecypher_procedures.rules.detector.values import LACKING, amounts, separable_verb
from sidecypher_procedures.rules.detector.vocabulary import MAX_CHARACTERS, scan, vocabulary

_PARTS: Final = re.compile(r",\s+")
_TOPIC: Final = re.compile(r":\s+")
_BUT: Final = re.compile(
    r"(?i)(?<!nothing)(?<!anything)(?<!everything)(?<!all)"
    r"[,\s]\s{0,3}(?:but|instead(?!\s{1,3}of\b)|so|then)(?:,\s{0,3}|\s)(?=\w)"
)
_OWNERS: Final = {"my", "our", "his", "her", "their"}
_AND: Final = {"and", "or", "nor"}
_MOST_STATEMENTS: Final = 20
_LONGEST_TOPIC: Final = 4
_RANKED: Final = 2
_ANYTHING: Final = {"anything", "anyone", "anybody", "at all"}
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
        topics: The words of it that only name the slot of a value.
        universal: Whether it is about all objects of its verb: "do not install anything".
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
    topics: frozenset[str] = frozenset()
    universal: bool = False
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
    lasting = (each for each in _joined(sentences(text)) if not is_aside(each))
    found = [each for sentence in lasting for each in _of_sentence(sentence)]
    return tuple(each for each in found if each.content or each.amounts)[:_MOST_STATEMENTS]


def _joined(parts: Sequence[str]) -> Iterator[str]:
    """Yield sentences; one that only refuses what the one before names becomes its negation."""
    before = ""
    for part in parts:
        rest = _refusal(part)
        if before and rest is not None:
            yield f"no {before.rstrip('?!.')} {rest}"
            before = ""
            continue
        if before:
            yield before
        before = part
    if before:
        yield before


def _refusal(sentence: str) -> str | None:
    """Return where a sentence refuses: "not in titles", "absolutely not"; None if it does not."""
    found = [each for each in tokens(sentence) if each.roles or each.content]
    if not found or "not" not in found[0].roles:
        return None
    said = [each.text for each in found[1:]]
    return " ".join(said) if not said or "head" in found[1].roles else None


def _of_sentence(sentence: str) -> list[Statement]:
    place, rest = _topic(sentence)
    condition: frozenset[str] = frozenset()
    found: list[Statement] = []
    parts = [tokens(each, sentence) for each in _PARTS.split(_BUT.sub(", ", rest))]
    parts = [each for part in _listed([each for each in parts if each]) for each in _paired(part)]
    # "Delete files without asking" is about an action, and refuses no files.
    unasked = any(each.content == UNASKED for part in parts for each in part)
    for number, part in enumerate(parts):
        if part[0].roles & {"wide", "exception"} and (number < len(parts) - 1 or not _says(part)):
            condition |= _condition(part)
        elif "head" in part[0].roles and not _says(part):
            place |= contents(part)
        elif _is_read(part, found):
            refused = bool(found) and not found[-1].wanted and not _begins(part)
            refused = refused and part[0].text != "and"
            read = _of_part(part, refused=refused, unasked=unasked)
            if part[0].text == "not" and read:
                # "Tabs, not spaces in emails" asks for tabs in emails.
                found = [replace(each, place=each.place or read[-1].place) for each in found]
            if _is_verdict(part, read):
                # "Prawns, crabs: all of that is off the menu" refuses what is before.
                found = [replace(each, wanted=not each.wanted) for each in found]
            found += read
    if len(found) > 1 and any(_is_unasked(each) for each in found):
        # "Delete files, no need to ask" is "delete files without asking".
        found = [
            replace(each, content=each.content | {UNASKED})
            for each in found
            if not _is_unasked(each)
        ]
    return [
        _placed(
            _asked(replace(each, place=each.place | place, condition=each.condition | condition))
        )
        for each in found
    ]


def _is_verdict(part: Sequence[Token], read: Sequence[Statement]) -> bool:
    """Return whether a part only says no to what is before it."""
    return any("predicate" in each.roles for each in part) and not any(
        each.content or each.wanted for each in read
    )


def _is_unasked(said: Statement) -> bool:
    """Return whether a statement says no more than "without asking"."""
    if said.condition or said.place:
        return False
    return said.content == {UNASKED} or (said.content == {ASK} and not said.wanted)


def _is_read(part: Sequence[Token], found: Sequence[Statement]) -> bool:
    """Return whether a part says more than the statements before it."""
    if found and part[0].text in _OWNERS:
        # It says why: "no lists, my screen is small".
        return False
    if not found or found[-1].wanted or _begins(part) or part[0].text in {"or", "nor"}:
        return True
    # "No A, B" may refuse B or ask for it; only after a wish does "and B" ask.
    return part[0].text == "and" and any(each.wanted for each in found)


def _listed(parts: list[tuple[Token, ...]]) -> list[tuple[Token, ...]]:
    """Give each of a list of single words a part of its own: "no A, B or C on Mondays"."""
    for first, begin in enumerate(parts):
        middle = []
        for each in parts[first + 1 :]:
            conjunction = next((n for n, word in enumerate(each) if word.text in _AND), None)
            if conjunction is not None:
                middle.append(each[:conjunction])
                break
            middle.append(each)
        else:
            continue
        last = _bare(parts[first + len(middle)][len(middle[-1]) + 1 :])
        middle = [_bare(each) for each in middle]
        items = [each[-1] for each in middle if each] + list(last[:1])
        place = max((n for n, word in enumerate(begin) if word.content), default=None)
        tail = last[1:]
        if (
            place is not None
            and all(len(each) <= 1 for each in middle)
            and all(each.content and not each.roles & _SAYING for each in items)
            and not _goes_on(tail)
            and items
            and not begin[place].roles & _SAYING
        ):
            listed = [
                (*begin[:place], item, *begin[place + 1 :], *tail)
                for item in (begin[place], *items)
            ]
            return [*parts[:first], *listed, *_listed(parts[first + len(middle) + 1 :])]
    return parts


def _bare(item: tuple[Token, ...]) -> tuple[Token, ...]:
    """Remove the article before a word."""
    return item[1:] if item and _is_article(item[0]) else item


def _paired(part: tuple[Token, ...]) -> list[tuple[Token, ...]]:
    """Give each of two single words a part of its own: "no A or B", "A and B"; not "no A and B"."""
    negative = any(each.roles & {"not", "avoid", "negative"} for each in part)
    for place in range(1, len(part) - 1):
        after = next((n for n in range(place + 1, len(part)) if not _is_article(part[n])), place)
        both = (part[place - 1], part[after])
        acts = any(each.content in everyday().actions for each in both)
        if (
            part[place].text in ({"or", "nor"} if negative and acts else _AND)
            and all(each.content and not each.roles & _SAYING for each in both)
            and not (place > 1 and part[place - 2].content)
            and not _goes_on(part[after + 1 :])
        ):
            head, tail = part[: place - 1], part[after + 1 :]
            return [(*head, each, *tail) for each in both]
    return [part]


def _is_article(token: Token) -> bool:
    return token.text in {"a", "an", "the", "my", "our", "any"}


def _goes_on(tail: Sequence[Token]) -> bool:
    """Return whether the next word belongs to the one before: "terms and conditions page"."""
    return any(each.content and not each.roles & {"head", "wide"} for each in tail[:1])


def _begins(found: Sequence[Token]) -> bool:
    """Return whether a part begins a statement of its own: its first words say yes or no."""
    if "break" in found[0].roles:
        return True
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
    refuses: bool = False
    lacks: bool = False
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
        topics = [each for each in [*said, *place] if _names(each, slots)]
        said = [each for each in said if each not in topics]
        place = [each for each in place if each not in topics]
        if not contents(said):
            # "Dates in ISO format for commits" is about ISO format, in commits.
            values = [each for each in place if _slots([each])]
            said = values or place
            place = [each for each in place if each not in said]
        return Statement(
            content=contents(said),
            wanted=not self.negative,
            place=contents(place) - everyday().whole,
            condition=_condition(self.condition),
            strength="waiver" if self.negative and self.strength == "permission" else self.strength,
            amounts=measured,
            topics=contents(topics),
            universal=any(each.text in _ANYTHING for each in self.tokens),
            order=tuple(each.content for each in said),
            unknown=contents(each for each in [*said, *place] if not each.known),
        )


def _asked(said: Statement) -> Statement:
    """Read "ask before you push" as "do not push unasked", which "push without asking" opposes."""
    if said.content == {UNASKED} and BEFORE in said.condition:
        # "No need to ask before you push" allows "push without asking".
        return replace(
            said,
            content=said.condition - {BEFORE},
            wanted=True,
            condition=frozenset({UNASKED}),
            strength="permission",
            order=(),
        )
    if UNASKED in said.content:
        return replace(said, content=said.content - {UNASKED}, condition=said.condition | {UNASKED})
    if NEEDS_APPROVAL in said.content:
        return replace(
            said,
            content=said.content - {NEEDS_APPROVAL},
            wanted=not said.wanted,
            condition=said.condition | {UNASKED},
            strength="" if said.wanted else "permission",
        )
    verbs = said.condition - {"except"}
    if verbs < said.condition and verbs and verbs <= everyday().consent:
        return replace(said, condition=frozenset({UNASKED}))
    if said.content == {ASK} and BEFORE in said.condition:
        return replace(
            said,
            content=said.condition - {BEFORE},
            wanted=not said.wanted,
            condition=frozenset({UNASKED}),
            strength="permission" if said.strength == "waiver" else said.strength,
            order=(),
        )
    return said


_BOUND: Final = {BEFORE, AFTER, UNTIL, UNASKED, "except", "not", "unless"}


def _placed(said: Statement) -> Statement:
    """Take "when reviewing" for a place, as "in reviews" is one."""
    if said.condition & _BOUND:
        return said
    return replace(said, place=said.place | said.condition, condition=frozenset())


def _condition(found: Sequence[Token]) -> frozenset[str]:
    """Return the words of a condition; of "if I say so", which has none of its own, the first."""
    denied = frozenset(["not"] if any("not" in each.roles for each in found) else [])
    return contents(found) | denied or frozenset(each.text for each in found[:1])


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
    *("nicer", "superior"),
}


def _of_part(found: Sequence[Token], *, refused: bool, unasked: bool) -> list[Statement]:
    """Read a part of a sentence between two commas."""
    if any("past" in each.roles for each in found) or found[0].text == "between":
        return []
    return _change(found) or _Reader(found, refused=refused, unasked=unasked).read()


class _Reader:
    """Reads the tokens of a part from left to right."""

    def __init__(self, found: Sequence[Token], *, refused: bool, unasked: bool) -> None:
        self._tokens = found
        self._drafts = [_Draft(negative=refused)]
        # Where words go: into the statement, its place or its condition.
        self._into = "tokens"
        self._ranks = any(each.text in _RANKING for each in found)
        self._unasked = unasked
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
            elif not self._refuse(number):
                self._keep(token)
        for draft in self._drafts[:-1]:
            draft.place = draft.place or self._drafts[-1].place
        measured = _measured(self._tokens)
        # What two negations with words between them mean is not known: "never X without Y".
        clear = [
            each for each in self._drafts if not each.doubtful and (each.begun or not each.lacks)
        ]
        return _ranked([each.finish(measured) for each in clear])

    def _refuse(self, number: int) -> bool:
        """Read a word that refuses, or ends a refusal; return whether it is one."""
        draft, token = self._drafts[-1], self._tokens[number]
        if draft.begun and (token.text in LACKING or self._is_with_no(number)):
            self._lack()
        elif "ending" in token.roles:
            draft.negative ^= number == len(self._tokens) - 1
        elif number == self._separable or (
            token.roles & {"avoid", "negative"} and not self._unasked
        ):
            self._turn()
        elif token.text == "and" and draft.refuses and self._is_order(number + 1):
            self._drafts.append(_Draft())
            self._into = "tokens"
        elif "predicate" in token.roles and self._separable is None:
            draft.negative = not draft.negative
        else:
            return False
        return True

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
        begins = token.text == "not" or (number > 0 and self._tokens[number - 1].text == "and")
        if self._into == "condition":
            draft.condition.append(replace(token, content="not"))
        elif begins and draft.begun and not auxiliary and self._into == "tokens":
            self._begin()
        elif token.text.endswith(" but") and draft.negative:
            # "Do not use anything but X" asks for X.
            draft.negative = False
        else:
            draft.doubtful |= draft.negative and draft.begun
            draft.negative = True
            if not draft.begun:
                draft.strength = ""

    def _turn(self) -> None:
        """Read a verb that refuses, and asks for what it refuses after a "not"."""
        draft = self._drafts[-1]
        draft.doubtful |= draft.negative and draft.begun
        draft.negative = draft.refuses = not draft.negative

    def _lack(self) -> None:
        """Read "charts without labels": no labels, in charts."""
        draft = self._drafts[-1]
        if draft.negative:
            draft.doubtful = True
        else:
            place = [*draft.tokens, *draft.place]
            self._drafts[-1] = _Draft(
                place=place, condition=draft.condition, negative=True, lacks=True
            )
            self._into = "tokens"

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

    def _is_with_no(self, number: int) -> bool:
        """Return whether "with no" stands here, which is "without"."""
        said = [each.text for each in self._tokens[max(0, number - 1) : number + 1]]
        return said == ["with", "no"]

    def _is_order(self, number: int) -> bool:
        """Return whether a verb follows: "skip the plan and start coding"."""
        return any("verb" in each.roles for each in self._tokens[number : number + 1])

    def _is_contrast(self, number: int) -> bool:
        """Return whether a token is between what is better and what is worse."""
        token, after = self._tokens[number], self._tokens[number + 1 : number + 2]
        if not after or after[0].entry.number:
            return False
        if token.text in {"over", ">", "to", "than"}:
            plain = token.text in {"over", ">"} and not any(
                "verb" in each.roles for each in self._tokens
            )
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
        if each.unit
        or each.operator != "exactly"
        or marks[each.number].text not in {"one", "zero"}
        or (each.number and marks[each.number - 1].text in {"just", "only", "exactly"})
    )
