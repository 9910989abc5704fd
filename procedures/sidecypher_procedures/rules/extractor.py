"""Find rules, names and relations in plain text, by patterns and without a model."""

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final, TypeVar

from sidecypher_procedures.rules.detector.comparison import Marker, Reading, read_marker, read_text
from sidecypher_procedures.rules.detector.tokens import is_aside
from sidecypher_procedures.rules.detector.vocabulary import ends_quoted, unquoted

# A run of marks is matched only from its first one, since it may be as long as the text.
_END = re.compile(
    r"(?<![.!?\u3002\uff01\uff1f])[.!?\u3002\uff01\uff1f]++(?=[\s\"'\u201d)\]]|$)"
    r"|[;\n]|\u3002|\uff01|\uff1f"
)
_ABBREVIATIONS = frozenset("dr mr mrs ms prof st e.g i.e etc vs no max min".split())
_LAST_WORD = re.compile(r"[\w.]{1,12}$")
_BULLET = re.compile(r"\s*(?:[-*\u2022#]+\s+|\d{1,3}[.)]\s+)?")
# A line that Markdown shows as the words of somebody else.
_CITED = re.compile(r"\s*>")
_FENCE = "```"


@dataclass(frozen=True, slots=True)
class Segment:
    """One sentence, line or item of a list.

    Attributes:
        start: Its position in the whole text.
        question: Whether it ends in a question mark.
    """

    text: str
    start: int
    question: bool

    @property
    def end(self) -> int:
        """The position behind it."""
        return self.start + len(self.text)


def segments(text: str) -> Iterator[Segment]:
    """Split a text into sentences, without the code in fenced blocks.

    Example:
        >>> [(each.text, each.start) for each in segments("Use tabs. Why?")]
        [('Use tabs', 0), ('Why', 10)]
    """
    for start, end in _outside_fences(text):
        yield from _sentences(text, start, end)


def _outside_fences(text: str) -> Iterator[tuple[int, int]]:
    start, fenced = 0, False
    while start <= len(text):
        end = text.find(_FENCE, start)
        stop = end if end >= 0 else len(text)
        if not fenced:
            yield start, stop
        start, fenced = stop + len(_FENCE), not fenced


def _sentences(text: str, start: int, stop: int) -> Iterator[Segment]:
    for found in _END.finditer(text, start, stop):
        if found[0] == "." and _abbreviated(text, start, found.start()):
            continue
        yield from _segment(text, start, found.start(), question=found[0][-1] in "?\uff1f")
        start = found.end()
    yield from _segment(text, start, stop, question=False)


def _abbreviated(text: str, start: int, end: int) -> bool:
    word = _LAST_WORD.search(text[max(start, end - 12) : end])
    return word is not None and word[0].casefold() in _ABBREVIATIONS


def _segment(text: str, start: int, end: int, *, question: bool) -> Iterator[Segment]:
    if start == end or _CITED.match(text, start, end):
        return
    bullet = _BULLET.match(text, start, end)
    start = bullet.end() if bullet else start
    whole = text[start:end]
    inner = whole.rstrip(" \t\r\"'\u201d)]")
    if ends_quoted(whole[: len(inner) + 1]):
        inner = whole[: len(inner) + 1]
    start += len(inner) - len(inner.lstrip(" \t\r\"'\u201c(["))
    inner = inner.lstrip(" \t\r\"'\u201c([")
    if inner:
        yield Segment(inner, start, question)


_WORD = re.compile(r"\w+(?:['\u2019]\w+)?")
# Every repetition is bounded, and no two alternatives share more than a bounded beginning.
_MARKED = re.compile(
    r"`(?P<code>[^`\n]{1,60})`"
    r"|\"(?P<quoted>[^\"\n]{1,60})\"|\u201c(?P<curly>[^\u201d\n]{1,60})\u201d"
    r"|(?<!\w)(?P<tag>[#@][^\W\d]\w{1,38})"
    r"|(?<![\w.])(?P<dotted>[^\W\d]\w{0,38}(?:\.[^\W\d]\w{1,38}){1,6})(?!\w)"
    r"|\b(?P<snake>[^\W\d_]\w{0,38}_\w{1,38})\b"
)
# The lookahead rejects words with an apostrophe, however long, before capitals are matched.
_MIXED = re.compile(r"(?=\w++\Z)(?:[^\W\d_]+[a-z0-9][A-Z]|[A-Z]\w*[a-z]\d)\w*")
_SMALL = {"of", "de", "van", "von", "der", "da", "del", "la"}
_NO_START = frozenset(
    "the a an in on at for from with to and but or if when while since as i we you he she it they "
    "this that these those my our your his her its their use write keep answer please never always "
    "no not do don't what why how who where is are was were can could would should there here also "
    "then so today after before maybe perhaps ask tell see call let make hello hi hey thanks meet "
    "contact ping email add remove give show only just even both either neither all some".split()
)
_MAX_WORDS: Final = 6


@dataclass(frozen=True, slots=True)
class Mention:
    """A possible name in a text.

    Attributes:
        sure: Whether it is a name by itself. One capitalised word is a name only in a relation.
    """

    name: str
    span: tuple[int, int]
    sure: bool


def mentions(text: str) -> list[Mention]:
    """Return all names of a text in order, without overlaps; marked ones take precedence.

    Example:
        >>> [each.name for each in mentions("Ada Lovelace wrote `notes.md`")]
        ['Ada Lovelace', 'notes.md']
    """
    found = [*_marked(text), *_capitalised(text, list(_WORD.finditer(text)))]
    taken: list[Mention] = []
    end = -1
    order = {id(each): rank for rank, each in enumerate(found)}
    for each in sorted(found, key=lambda one: (one.span[0], order[id(one)])):
        if each.span[0] >= end:
            taken.append(each)
            end = each.span[1]
    return taken


def _marked(text: str) -> Iterator[Mention]:
    for found in _MARKED.finditer(text):
        kind = str(found.lastgroup)
        name = found[kind].strip()
        if kind in {"quoted", "curly"} and not _looks_like_name(name):
            continue
        if name:
            start = found.start(kind) + found[kind].index(name)
            yield Mention(name, (start, start + len(name)), sure=True)


def _looks_like_name(text: str) -> bool:
    words = text.split()
    return 0 < len(words) <= _MAX_WORDS and words[0][0].isupper() and text[-1].isalnum()


def _capitalised(text: str, words: list[re.Match[str]]) -> Iterator[Mention]:
    """Yield runs of capitalised words, and single words of mixed case such as `GraphQL`."""
    place = 0
    while place < len(words):
        if not _is_capitalised(words[place][0]):
            place += 1
            continue
        end = _name_end(text, words, place)
        while place < end and words[place][0].casefold() in _NO_START:
            place += 1
        if place < end:
            span = (words[place].start(), words[end - 1].end())
            sure = end > place + 1 or bool(_MIXED.fullmatch(words[place][0]))
            yield Mention(text[slice(*span)], span, sure=sure)
        place = end


def _is_capitalised(word: str) -> bool:
    return word[0].isupper() or bool(_MIXED.fullmatch(word))


def _name_end(text: str, words: list[re.Match[str]], place: int) -> int:
    """Return the index behind the last word of a name, which may contain words such as `of`."""
    end = ahead = place + 1
    while ahead < min(len(words), place + _MAX_WORDS) and _adjacent(
        text, *words[ahead - 1 : ahead + 1]
    ):
        word = words[ahead][0]
        if not (word[0].isupper() or word in _SMALL):
            break
        ahead += 1
        end = ahead if word[0].isupper() else end
    return end


def _adjacent(text: str, one: re.Match[str], other: re.Match[str]) -> bool:
    return text[one.end() : other.start()] in {" ", "-", ". "} and (
        text[one.end() : other.start()] != ". " or one[0] in {"Dr", "Mr", "Mrs", "Ms", "St", "Prof"}
    )


# The order matters: "is a part of" must be matched before "is a".
_TYPES = {
    "PART_OF": r"is (?:a )?part of|is a (?:component|module|member) of|belongs to",
    "USES": r"uses?|makes? use of|is using",
    "DEPENDS_ON": r"depends? on|relies on|rely on|requires?|needs?",
    "WORKS_AT": r"works? (?:at|for)|is employed (?:at|by)",
    "WRITTEN_IN": r"is (?:written|implemented|built|coded) in",
    "BASED_ON": r"is (?:based|built) on",
    "RUNS_ON": r"runs? on|is deployed (?:on|to)|is hosted (?:on|at)",
    "LOCATED_IN": r"is (?:located|based|situated) in|lives? in",
    "CREATED_BY": r"(?:is|was) (?:created|written|made|developed|built|founded|maintained) by",
    "OWNED_BY": r"is owned by|is run by",
    "CREATED": r"created|wrote|founded|developed|invented|designed",
    "MANAGES": r"manages?|leads?|maintains?|owns?",
    "REPORTS_TO": r"reports? to",
    "EXTENDS": r"extends?|inherits? from|subclasses",
    "IMPLEMENTS": r"implements?",
    "CALLS": r"calls?|invokes?",
    "IMPORTS": r"imports?",
    "CONTAINS": r"contains?|includes?|consists of",
    "REPLACES": r"replaces?|supersedes?",
    "CONNECTS_TO": r"connects? to|talks? to|integrates? with",
    "KNOWN_AS": r"is (?:also )?(?:known|called) as|is also called|stands for",
    "IS_A": r"is an?|are|is the",
}
_VERB = re.compile(
    r"(?:(?:also|now|currently|mainly|still|always|usually) )?(?:"
    + "|".join(f"(?P<{name}>{verbs})" for name, verbs in _TYPES.items())
    + r")\b",
    re.IGNORECASE,
)
_ARTICLE = re.compile(r"(?:an?|the|our|its|their)\s+", re.IGNORECASE)
_KIND = re.compile(r"[^\W\d_][\w-]{1,30}(?: [^\W\d_][\w-]{1,30}){0,3}")
_KIND_END = frozenset(
    "that which who for with of in on at to from and or but by as is are was when where we".split()
)
_DOUBT = re.compile(
    r"\b(?:if|whether|unless|maybe|perhaps|might|could|would|suppose|imagine|should|not|never)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Relation:
    """A relation between two names.

    Attributes:
        source: The name where the relation starts.
        type: In capitals with underscores, such as `DEPENDS_ON`.
        target: The name where it ends.
        span: Start and end of the whole statement in the text; the end is exclusive.
    """

    source: str
    type: str
    target: str
    span: tuple[int, int]


def relations(segment: Segment, found: Sequence[Mention]) -> Iterator[Relation]:
    """Yield the relations that one sentence states as a fact, between adjacent names.

    Questions, conditions, wishes and negations are not facts. `found` has the names of the whole
    text, in order.

    Example:
        >>> sentence = Segment("Ada works at Acme", 0, question=False)
        >>> names = [Mention("Ada", (0, 3), sure=False), Mention("Acme", (13, 17), sure=False)]
        >>> [(each.source, each.type, each.target) for each in relations(sentence, names)]
        [('Ada', 'WORKS_AT', 'Acme')]
    """
    if segment.question:
        return
    first = bisect_left(found, segment.start, key=lambda each: each.span[0])
    for place in range(first, len(found)):
        source = found[place]
        if source.span[1] > segment.end:
            break
        relation = _relation_from(segment, source, found, place + 1)
        if relation and not _DOUBT.search(segment.text, 0, source.span[0] - segment.start):
            yield relation


def _relation_from(
    segment: Segment, source: Mention, found: Sequence[Mention], following: int
) -> Relation | None:
    text, begin = segment.text, segment.start
    start = _next_word(text, source.span[1] - begin)
    if start is None:
        return None
    verb = _VERB.match(text, start)
    if verb is None:
        return None
    kind = str(verb.lastgroup)
    place = verb.end()
    while place < len(text) and text[place] in ' `"\u201c':
        place += 1
    article = _ARTICLE.match(text, place)
    if article:
        place = article.end()
    target = _target(segment, place, found[following : following + 2], kind)
    if target is None or target.name.casefold() == source.name.casefold():
        return None
    return Relation(source.name, kind, target.name, (source.span[0], target.span[1]))


def _next_word(text: str, end: int) -> int | None:
    """Return the position of the next word, if only closing marks and spaces precede it."""
    place = end
    while place < len(text) and text[place] in '`"\u201d ':
        place += 1
    return place if place > end and text[place - 1] == " " else None


def _target(
    segment: Segment, place: int, following: Sequence[Mention], kind: str
) -> Mention | None:
    """Return the name at a position of the sentence; for `IS_A` it may be a common noun."""
    text, begin = segment.text, segment.start
    for mention in following:
        start = mention.span[0] - begin
        if start >= place and not text[place:start].strip(' `"\u201c'):
            return mention
    if kind != "IS_A":
        return None
    phrase = _KIND.match(text, place)
    words = phrase[0].split() if phrase else []
    end = next((i for i, word in enumerate(words) if word.casefold() in _KIND_END), len(words))
    name = " ".join(words[:end])
    span = (begin + place, begin + place + len(name))
    return Mention(name, span, sure=True) if name else None


def _one_of(words: str) -> str:
    """Return a pattern of alternatives from comma-separated phrases."""
    return "(?:" + "|".join(words.split(", ")) + ")"


_VERBS = _one_of(
    "use, write, keep, answer, reply, respond, avoid, do not, don.?t, no, not, skip, omit, leave, "
    "indent, call, name, add, include, make, be, set, limit, wrap, format, put, give, explain, "
    "start, end, stick, speak, refrain, address, refer, cite, spell, capitali[sz]e, show, sound, "
    "at most, at least, max\\w*, min\\w*, in, for, when, without, output, quote"
)
_POLITE = _one_of("please, also, and, but, then, so, ok, okay, kindly, just, only")
_ORDER = re.compile(
    r"(?:(?:from|starting|as of|beginning) (?:next |now |to)?\w+,? (?:on,? )?)?"
    rf"(?:{_POLITE}[, ]+)*{_VERBS}\b",
    re.IGNORECASE,
)
_LASTING = re.compile(
    r"\b"
    + _one_of(
        "always, never, from now on, going forward, in general, by default, prefer\\w*, no longer, "
        "any ?more, used to, stop, must, should, rule, whenever, at all times, from here on, "
        "for future"
    )
    + r"\b",
    re.IGNORECASE,
)
_LIKING = re.compile(
    r"\b(?:i|we)(?:.d|.m)? (?:"
    + _one_of("really, also, do not, don.t, would, no longer, still, just")
    + " ){0,2}"
    + _one_of("like, love, want, need, hate, dislike, enjoy, use")
    + r"\b",
    re.IGNORECASE,
)
# What a sentence must begin with to last, since it is said of anything elsewhere.
_STANDING = re.compile(
    rf"(?:{_POLITE}[, ]+)*(?:(?:do not|don.t) (?!know|think|see|worry|bother|mind|have|get)|"
    rf"stick to|spare me|feel free to|no\b.{{1,100}}\bever$)|(?:{_POLITE}[, ]+)*only {_VERBS}\b",
    re.IGNORECASE,
)
# What somebody does or says is not what the reader is asked for.
_NARRATED = re.compile(
    r"(?:i|we) (?:never|always|usually|often) (?!want|need|like|use|prefer|write|expect)|"
    r"(?:back|when i was|yesterday|once)\b|"
    r"(?:my|the|his|her|our|their) \w+ (?:always|never) \w+s\b|"
    r"(?!please\b|user\b)\w+(?:'s \w+(?: \w+)?)? (?:prefers|likes|hates|told|shouted)\b|"
    r"the (?!user\b)\w+ (?:prefers|likes|hates|told|shouted)\b",
    re.IGNORECASE,
)
# A task that names a rule is not the rule.
_TASK = re.compile(
    r"(?:please )?(?:translate|explain|fix|proofread|rewrite|continue|summari[sz]e|"
    r"(?:write|make|draft) (?:me )?(?:an?|the|this))\b",
    re.IGNORECASE,
)
_ASKED = re.compile(r"(?:can|could|would|will) you (?:please )?", re.IGNORECASE)
_MADE = _one_of(
    "write, make, give, create, generate, draft, translate, summari[sz]e, rewrite, fix, explain, "
    "convert, add, show, do, put"
)
_THING = _one_of("an?, the, this, that, my, these, those, it, another, one, \\d+")
_HERE = _one_of(
    "one, text, function, file, code, table, row, line, page, answer, message, email, paragraph, "
    "section, sentence, document, list, chart, image, commit, branch, test"
)
_NOW = _one_of(f"this time, just once, for now, the following, this {_HERE}")
# A one-time request: "write a letter", "make this formal".
_ONE_TIME = re.compile(
    rf"(?:please )?{_MADE} (?:me )?{_THING}\b(?! lot\b)|.*\b{_NOW}\b", re.IGNORECASE
)
_PARTS = re.compile(r",\s+(?:and |but )?|\s+(?:and|but)\s+|\s+[\u2013\u2014-]\s+", re.IGNORECASE)
_REASON = re.compile(r"\s(?:because|since|so that|as it|as they)\s", re.IGNORECASE)

MAX_SENTENCE: Final = 300
_SURE, _LIKELY, _UNREAD = 0.9, 0.7, 0.5


@dataclass(frozen=True, slots=True)
class Statement:
    """A rule in a text.

    Attributes:
        text: The rule as written.
        reading: Its reading by the detector.
        temporal_marker: The time it refers to; `negated` for a prohibition.
        span: Its start and end in the whole text; the end is exclusive.
        confidence: 0.9 for a lasting wish with a known slot, 0.7 for an order with one, 0.5 for a
            lasting wish without a known slot. These values are this project's choice.
    """

    text: str
    reading: Reading
    temporal_marker: Marker
    span: tuple[int, int]
    confidence: float


def statements(segment: Segment) -> Iterator[Statement]:
    """Yield the rules of one sentence; several if several of its parts are rules.

    Example:
        >>> found = statements(Segment("Use tabs and never use emojis", 0, question=False))
        >>> [each.text for each in found]
        ['Use tabs', 'never use emojis']
    """
    if len(segment.text) > MAX_SENTENCE:
        return
    asked = _ASKED.match(segment.text)
    if (segment.question and not asked) or is_aside(segment.text):
        return
    start = asked.end() if asked else 0
    reason = _REASON.search(segment.text, start)
    end = reason.start() if reason else len(segment.text)
    whole = _statement(segment, start, end)
    if whole and whole.reading.slot:
        yield whole
        return
    parts = [each for each in _split_parts(segment, start, end) if each.reading.slot]
    if parts:
        yield from parts
    elif whole:
        yield whole


def _split_parts(segment: Segment, start: int, end: int) -> Iterator[Statement]:
    for found in _PARTS.finditer(segment.text, start, end):
        part = _statement(segment, start, found.start())
        if part:
            yield part
        start = found.end()
    part = _statement(segment, start, end)
    if part:
        yield part


def _statement(segment: Segment, start: int, end: int) -> Statement | None:
    text = segment.text[start:end].rstrip(" ,")
    said = unquoted(text)
    lasting = bool(_LASTING.search(said)) or (
        bool(_STANDING.match(said)) and not _ONE_TIME.match(said)
    )
    liking = bool(_LIKING.search(said))
    if not (lasting or liking or _ORDER.match(text)) or _NARRATED.match(said):
        return None
    if _TASK.match(said) or (not lasting and _ONE_TIME.match(text)):
        return None
    reading = read_text(text)
    if not (reading.slot or lasting):
        return None
    place = segment.start + start
    confidence = (_SURE if lasting or liking else _LIKELY) if reading.slot else _UNREAD
    return Statement(text, reading, read_marker(text), (place, place + len(text)), confidence)


MAX_CHARACTERS: Final = 100_000
MAX_FOUND: Final = 500

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Entity:
    """A name, as first written in the text.

    Attributes:
        span: Its start and end in the whole text; the end is exclusive.
    """

    name: str
    span: tuple[int, int]


@dataclass(frozen=True, slots=True)
class Extracted:
    """Rules, names and relations of one text, in the order of the text.

    Attributes:
        truncated: Whether a limit cut something off: text beyond 100,000 characters, or more than
            500 findings of one kind.
    """

    rules: tuple[Statement, ...] = ()
    entities: tuple[Entity, ...] = ()
    relations: tuple[Relation, ...] = ()
    truncated: bool = False


def extract(text: str) -> Extracted:
    """Extract rules, names and relations by patterns. Instructions in the text are not followed.

    Args:
        text: Any text; only the first 100,000 characters are read.

    Returns:
        Lasting preferences as rules, names, and relations between names. A one-time request
        ("write a formal letter") is not a rule.

    Example:
        >>> found = extract("Always use tabs. Ada Lovelace works at Acme.")
        >>> found.rules[0].reading.value, found.relations[0].type
        ('tabs', 'WORKS_AT')
    """
    kept = text[:MAX_CHARACTERS]
    sentences = list(segments(kept))
    names = mentions(kept)
    rules, more_rules = _limited(each for sentence in sentences for each in statements(sentence))
    facts, more_facts = _limited(
        each for sentence in sentences for each in relations(sentence, names)
    )
    ends = {name for fact in facts for name in (fact.source, fact.target)}
    entities, more_entities = _limited(_entities(names, facts, ends))
    more = more_rules or more_facts or more_entities or len(kept) < len(text)
    return Extracted(rules, entities, facts, truncated=more)


def _limited(found: Iterator[T]) -> tuple[tuple[T, ...], bool]:
    """Return at most `MAX_FOUND` findings, and whether there are more."""
    some = tuple(islice(found, MAX_FOUND))
    return some, next(found, None) is not None


def _entities(
    names: Sequence[Mention], facts: Iterable[Relation], ends: set[str]
) -> Iterator[Entity]:
    """Yield each name once, if it is sure or an end of a relation."""
    seen: set[str] = set()
    written = {each.name for each in names}
    kinds = [
        Mention(fact.target, (fact.span[1] - len(fact.target), fact.span[1]), sure=True)
        for fact in facts
        if fact.target not in written
    ]
    for each in sorted([*names, *kinds], key=lambda one: one.span):
        if (each.sure or each.name in ends) and each.name.casefold() not in seen:
            seen.add(each.name.casefold())
            yield Entity(each.name, each.span)
