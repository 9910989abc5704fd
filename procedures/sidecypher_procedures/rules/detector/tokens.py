"""Division of a text into known phrases, of slots and of everyday words, and other words."""

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from typing import Any, Final

import snowballstemmer

from sidecypher_procedures.rules.detector.vocabulary import (
    Entry,
    canonical,
    mark_code,
    number_entry,
    phrase_at,
    stem,
    table,
    unquoted,
    vocabulary,
)

_STEMMER: Final = snowballstemmer.stemmer("english")
_KINDS: Final = ("permission", "waiver", "aside", "past", "negative", "ending")
_NEGATIONS: Final = {"not", "avoid", "predicate", "contrast", "neutral", "less"}
_EVERYDAY: Final = {"verb", "filler"}
_SENTENCES: Final = re.compile(r"(?<=[.;!?])\s+|\n+|\s[-\u2013]+\s|\s?\u2014\s?|[()]")
# An article or pronoun before an apostrophe: "l'anglais", "n'utilise".
_ELIDED: Final = re.compile(r"(?i)\b([cdjlmnqst])['\u2019](?=[^\W\d_]{2})")
_OTHERS: Final = re.compile(
    r"(?i)(?:my|his|her|their)(?: \w+){1,2} (?:prefers|likes|hates|wants)\b"
)
_POLITE: Final = ("can you", "could you", "would you", "will you", "can we", "could we")


@lru_cache(maxsize=8192)
def root(word: str) -> str:
    """Return the root of an English word.

    Example:
        >>> root("deployments"), root("deployed")
        ('deploy', 'deploy')
    """
    return str(_STEMMER.stemWord(word))


BEFORE: Final = root("before")
AFTER: Final = root("after")
ASK: Final = root("ask")
ALONE: Final = root("automatically")
NEEDS_APPROVAL: Final = "needs_approval"
UNTIL: Final = root("until")
UNASKED: Final = root("unasked")


@dataclass(frozen=True, slots=True)
class Phrase:
    """A phrase of `statements.toml`.

    Attributes:
        kind: `permission`, `waiver`, `aside`, `past`, `negative`, `ending`, `function`, or `word`
            for one that adds `name` to a statement.
    """

    words: tuple[str, ...]
    kind: str
    name: str = ""


@dataclass(frozen=True, slots=True)
class EverydayWords:
    """The tables of `statements.toml`.

    Attributes:
        function: Roots of words without a meaning of their own.
        phrases: By their first word or root, longer ones first.
        contrasts: For the first word of each side of opposites its group and its side.
        kinds: For a special word, or a slot, the general words that it is refused with.
        actions: Roots of verbs that refuse nothing.
        common: Roots of other words that are known, and refuse nothing.
        consent: Roots of verbs for what allows something.
        whole: Roots of places that are everywhere: "in this project".
        change: Roots of verbs before "from X to Y".
        replace: Roots of verbs before "X with Y".
    """

    function: frozenset[str]
    phrases: Mapping[str, Sequence[Phrase]]
    contrasts: Mapping[str, tuple[int, int]]
    kinds: Mapping[str, frozenset[str]]
    actions: frozenset[str]
    common: frozenset[str]
    consent: frozenset[str]
    whole: frozenset[str]
    change: frozenset[str]
    replace: frozenset[str]


@cache
def everyday() -> EverydayWords:
    """Return the everyday words, which are read once."""
    data = table("statements.toml")
    contrasts = {
        _name(texts[0]): (number, side)
        for number, sides in enumerate(data["contrasts"])
        for side, texts in enumerate(sides)
    }
    return EverydayWords(
        function=frozenset(root(text) for text in data["function"] if " " not in text),
        phrases=_by_first(_read_phrases(data)),
        contrasts=contrasts,
        kinds=_kinds(data["kinds"]),
        actions=frozenset(map(root, data["actions"])),
        common=frozenset(map(root, data["common"])),
        consent=frozenset(map(root, data["consent"])),
        whole=frozenset(map(root, data["whole"])),
        change=frozenset(map(root, data["change"])),
        replace=frozenset(map(root, data["replace"])),
    )


def _kinds(lists: Sequence[Sequence[str]]) -> dict[str, frozenset[str]]:
    kinds: defaultdict[str, set[str]] = defaultdict(set)
    for general, *specials in lists:
        for special in specials:
            kinds[_name(special)].add(_name(general))
    for slot in vocabulary().slots.values():
        for special, general in slot.implies.items():
            kinds[f"{slot.name}={special}"].add(f"{slot.name}={general}")
    return {special: frozenset(generals) for special, generals in kinds.items()}


def kinds_of(word: str) -> frozenset[str]:
    """Return the general words of a content word.

    Example:
        >>> kinds_of("walnut"), kinds_of("seat")
        (frozenset({'nut'}), frozenset())
    """
    kinds = everyday().kinds
    slot, is_value, _ = word.partition("=")
    found = kinds.get(word, _NO_KINDS)
    return found | kinds.get(slot, _NO_KINDS) if is_value else found


_NO_KINDS: Final[frozenset[str]] = frozenset()


@dataclass(frozen=True, slots=True)
class ForeignWords:
    """The tables of `foreign.toml`.

    Attributes:
        function: Words without a meaning of their own, of all its languages.
        phrases: Negations, and words with an English meaning, by their first word.
    """

    function: frozenset[str]
    phrases: Mapping[str, Sequence[Phrase]]


@cache
def _foreign() -> ForeignWords:
    data = table("foreign.toml")
    found = [Phrase(_words(text), "not") for text in data["negative"]]
    for meaning, *texts in data["translations"]:
        name = meaning if "=" in meaning else _english(meaning)
        found += (Phrase(_words(text), "word", name) for text in texts)
    return ForeignWords(
        frozenset(word for texts in data["function"].values() for word in texts), _by_first(found)
    )


def _english(text: str) -> str:
    found = _tokenize(canonical(text).split(), foreign=False)
    return " ".join(each.content for each in found if each.content)


def _by_first(found: Iterable[Phrase]) -> dict[str, list[Phrase]]:
    phrases: dict[str, list[Phrase]] = {}
    for phrase in found:
        phrases.setdefault(phrase.words[0], []).append(phrase)
    for each in phrases.values():
        each.sort(key=lambda phrase: -len(phrase.words))
    return phrases


def _is_foreign(written: Sequence[str]) -> bool:
    """Return whether a text has more words of other languages alone than small English ones."""
    foreign, known = _foreign(), vocabulary().phrases
    english = sum(root(word) in everyday().function for word in written)
    others = sum(
        (word in foreign.function or word in foreign.phrases)
        and root(word) not in everyday().function
        and stem(word) not in known
        for word in written
    )
    return others > english


def _read_phrases(data: Mapping[str, Any]) -> Iterator[Phrase]:
    for kind in _KINDS:
        yield from (Phrase(_words(text), kind) for text in data[kind])
    yield from (Phrase(_words(text), "function") for text in data["function"] if " " in text)
    for sides in data["contrasts"]:
        for texts in sides:
            yield from (Phrase(_roots(text), "word", _name(texts[0])) for text in texts)
    yield from (Phrase(_roots(text), "word", _name(text)) for text in data["actions"])
    for texts in data["kinds"]:
        yield from (
            Phrase(_roots(text), "word", _name(text))
            for text in texts
            if text.partition("=")[0] not in vocabulary().slots
        )
    for first, *others in data["synonyms"]:
        yield from (Phrase(_roots(text), "word", _name(first)) for text in (first, *others))


def _words(text: str) -> tuple[str, ...]:
    return tuple(canonical(text).split())


def _roots(text: str) -> tuple[str, ...]:
    return tuple(map(root, _words(text)))


def _name(text: str) -> str:
    """Return what a phrase adds to a statement: a slot and its value stay as they are."""
    if text.partition("=")[0] in vocabulary().slots:
        return text
    plain = canonical(text)
    return plain.replace(" ", "_") if " " in plain else root(plain)


@dataclass(frozen=True, slots=True)
class Token:
    """A known phrase, or one other word.

    Attributes:
        roles: What it does in a sentence, as in `lexicon.toml`, or its kind in `statements.toml`.
        content: What it adds to a statement; empty for words without a meaning of their own.
        entry: Its meanings for slots.
        known: Whether one of the tables has it.
    """

    text: str
    roles: frozenset[str]
    content: str
    entry: Entry
    known: bool


_NO_ENTRY: Final = Entry()
_NO_PHRASE: Final = Phrase((), "")


@lru_cache(maxsize=8192)
def tokens(text: str, sentence: str = "") -> tuple[Token, ...]:
    """Divide a text into the longest phrases that are known.

    Args:
        text: What is divided.
        sentence: What it is a part of, which tells its language.

    Example:
        >>> [(each.text, each.content) for each in tokens("No squashed commits")]
        [('no', ''), ('squashed', 'squash'), ('commits', 'commit')]
    """
    return _tokenize(_written(text), foreign=_is_foreign(_written(sentence or text)))


def _written(text: str) -> list[str]:
    return canonical(_ELIDED.sub(r"\1e ", mark_code(text))).split()


def _tokenize(written: Sequence[str], *, foreign: bool) -> tuple[Token, ...]:
    found = list(_divided(written, foreign=foreign))
    topics = {topic for _, _, entry in found for topic in entry.topics}
    divided = [_token(said, phrase, entry, topics) for said, phrase, entry in found]
    for number, token in enumerate(divided):
        if token.entry.number and not counts(divided, number):
            divided[number] = replace(token, content=token.entry.number)
    return tuple(divided)


def counts(found: Sequence[Token], number: int) -> bool:
    """Return whether a number says how many: "three options", but not "chapter 3"."""
    after = found[number + 1 : number + 2]
    before = found[max(0, number - 1) : number]
    return any(each.content or each.entry.unit for each in after) or any(
        each.entry.operators or each.text == "at" for each in before
    )


def _divided(written: Sequence[str], *, foreign: bool) -> Iterator[tuple[str, Phrase, Entry]]:
    stems, roots, words = tuple(map(stem, written)), tuple(map(root, written)), tuple(written)
    place = 0
    while place < len(written):
        entry, size = phrase_at(stems, place) or (_NO_ENTRY, 1)
        if size == 1:
            entry = number_entry(written[place]) or entry
        candidates = [_phrase(everyday().phrases, said, place) for said in (words, roots)]
        if foreign:
            candidates.insert(0, _foreign_phrase(words, place))
        phrase = max(candidates, key=lambda each: len(each.words))
        if len(phrase.words) > size:
            size, entry = len(phrase.words), _NO_ENTRY
        elif len(phrase.words) < size or any(sure for _, _, sure in entry.values):
            phrase = _NO_PHRASE
        yield " ".join(written[place : place + size]), phrase, entry
        place += size


def _phrase(phrases: Mapping[str, Sequence[Phrase]], said: tuple[str, ...], place: int) -> Phrase:
    for phrase in phrases.get(said[place], ()):
        if said[place : place + len(phrase.words)] == phrase.words:
            return phrase
    return _NO_PHRASE


def _foreign_phrase(said: tuple[str, ...], place: int) -> Phrase:
    phrase = _phrase(_foreign().phrases, said, place)
    if phrase is _NO_PHRASE and said[place] in _foreign().function:
        return Phrase(said[place : place + 1], "function")
    return phrase


def _token(said: str, phrase: Phrase, entry: Entry, topics: Collection[str]) -> Token:
    decides = phrase.kind not in {"", "word"}
    content = phrase.name or ("" if decides else _content(said, entry, topics))
    return Token(
        said,
        frozenset({phrase.kind}) if decides else frozenset(entry.roles),
        content,
        entry,
        known=bool(phrase.kind) or entry is not _NO_ENTRY or content in everyday().common,
    )


def _content(said: str, entry: Entry, topics: Collection[str]) -> str:
    # A word such as "go" is a value only where its slot is named.
    common = not entry.roles.isdisjoint(_EVERYDAY)
    for slot, value, sure in entry.values:
        if slot in topics or (sure and not common):
            return slot if value == "use" else f"{slot}={value}"
    if entry.number or entry.operators or entry.roles & _NEGATIONS:
        return ""
    if entry.context:
        return entry.context
    function = everyday().function
    return " ".join(found for word in said.split() if (found := root(word)) not in function)


def contents(found: Iterable[Token]) -> frozenset[str]:
    """Return what tokens add to a statement, without the prepositions and conjunctions."""
    return frozenset(
        word
        for each in found
        if not each.roles & {"head", "wide"} or each.content in (BEFORE, AFTER, UNTIL)
        for word in each.content.split()
    )


def sentences(text: str) -> list[str]:
    """Divide a text into sentences."""
    return [each for each in _SENTENCES.split(text) if each.strip()]


def is_aside(sentence: str) -> bool:
    """Return whether a sentence is not a lasting rule: a question, a quotation, or once only.

    Example:
        >>> is_aside("Just this once, answer in French."), is_aside("Answer in French.")
        (True, False)
    """
    said = unquoted(sentence)
    if sentence.rstrip().endswith("?") and not canonical(said).startswith(_POLITE):
        return True
    if _OTHERS.match(said.lstrip()):
        return True
    return any("aside" in each.roles for each in tokens(said))


def is_plain_wish(text: str) -> bool:
    """Return whether a text asks for or refuses something that lasts, and does not only allow it.

    Example:
        >>> is_plain_wish("Use emojis"), is_plain_wish("You may use emojis")
        (True, False)
    """
    if any(map(is_aside, sentences(text))):
        return False
    return not any(each.roles & {"permission", "waiver"} for each in tokens(text))
