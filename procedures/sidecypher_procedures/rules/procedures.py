"""The procedures `rules.*`."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import TypeVar

from sidecypher import Context, Node, procedure
from sidecypher_procedures.names import shown_id
from sidecypher_procedures.rules import adoption, changes, forgetting, recall, rows, store
from sidecypher_procedures.rules.console import show_contradictions  # noqa: F401 - offered here
from sidecypher_procedures.rules.context import graph_context
from sidecypher_procedures.rules.errors import InvalidArgument
from sidecypher_procedures.rules.extraction import Findings
from sidecypher_procedures.rules.extraction import remember as write_findings
from sidecypher_procedures.rules.model import Rule, ScopeKind, lock
from sidecypher_procedures.rules.options import (
    LONGEST_QUERY,
    ActiveOptions,
    CheckOptions,
    ContextInput,
    ContextOptions,
    ContradictionsOptions,
    ExplainOptions,
    ExtractionInput,
    FactsOptions,
    ForgetInput,
    HistoryOptions,
    JudgementInput,
    LimitOptions,
    MomentOptions,
    PageOptions,
    ReadOptions,
    RememberInput,
    RuleInput,
    SearchOptions,
    scope_argument,
    text_argument,
)
from sidecypher_procedures.rules.ranking import Moment, explanation
from sidecypher_procedures.rules.ranking import explain as steps_of
from sidecypher_procedures.rules.selection import (
    BOUNDS,
    Reader,
    SearchLimits,
    decide_about,
    outcome_for,
    select,
)
from sidecypher_procedures.rules.settings import Configuration

_T = TypeVar("_T")


@procedure("rules.add", mode="WRITE")
def add(
    ctx: Context,
    rule: RuleInput,
    extraction: ExtractionInput,
    options: MomentOptions = MomentOptions(),
) -> rows.Added:
    """State a rule of a user with its source, and record the rules that it contradicts."""
    stated, source = rule.stated, extraction.stated
    held = lock(ctx, stated.scope)
    moment = ctx.resource(Configuration).moment(options, held.now)
    store.write_extraction(ctx, stated.scope.user, source)
    written = changes.state_rule(ctx, stated, source, held, moment)
    decision = outcome_for(ctx, written.rule_id, Reader.of(stated.scope), stated.reading, moment)
    return rows.Added(
        id=written.rule_id,
        status=decision.status,
        reason=decision.reason,
        contradicts=written.contradicts,
        extraction_id=source.extraction_id,
        created=written.created,
    )


@procedure("rules.confirm", mode="WRITE")
def confirm(ctx: Context, rule_id: str, extraction: ExtractionInput) -> rows.RuleStatus:
    """Record that the user confirms a rule. It then wins over unconfirmed rules."""
    return _write_feedback(ctx, rule_id, extraction, "confirmed")


@procedure("rules.retract", mode="WRITE")
def retract(ctx: Context, rule_id: str, extraction: ExtractionInput) -> rows.RuleStatus:
    """Record that the user retracts a rule. Nothing is deleted."""
    return _write_feedback(ctx, rule_id, extraction, "retracted")


@procedure("rules.remember", mode="WRITE")
def remember(
    ctx: Context,
    input: RememberInput,  # noqa: A002 - the name that Cypher shows
    options: MomentOptions = MomentOptions(),
) -> rows.Remembered:
    """Write the concepts, facts and rules of a text, given as findings or found by patterns."""
    findings = Findings.of(input)
    moment_of = partial(ctx.resource(Configuration).moment, options)
    done = write_findings(ctx, findings, moment_of)
    extraction_id = findings.extraction.extraction_id
    rules = []
    # Decided after all are written, since a later rule may beat an earlier one.
    for rule, written in zip(findings.rules, done.rules, strict=True):
        moment = moment_of(done.held[rule.scope].now)
        decision = outcome_for(ctx, written.rule_id, Reader.of(rule.scope), rule.reading, moment)
        rules.append(
            {
                "id": written.rule_id,
                "status": decision.status,
                "reason": decision.reason,
                "contradicts": written.contradicts,
                "extractionId": extraction_id,
                "created": written.created,
            }
        )
    return rows.Remembered(
        extraction_id=extraction_id,
        concepts=done.concepts,
        facts=done.facts,
        ended=done.ended,
        rules=rules,
        left_out=[{"text": each.text, "reason": each.reason} for each in findings.left_out],
    )


@procedure("rules.forget", mode="WRITE")
def forget(ctx: Context, what: ForgetInput) -> Iterator[rows.Forgotten]:
    """Delete a rule, an extraction, or all of a session or a user, with their provenance."""
    # All of it is done before the first row: who reads one row only has forgotten the same.
    yield from forgetting.forget(ctx, what)


@procedure("rules.search")
def search(
    ctx: Context, user_id: str, query: str, options: SearchOptions = SearchOptions()
) -> Iterator[rows.Found]:
    """Search the rules, concepts and extractions of a user for words, the best first."""
    user = text_argument("userId", user_id)
    yield from recall.search(ctx, user, text_argument("query", query, LONGEST_QUERY), options.limit)


@procedure("rules.facts")
def facts(
    ctx: Context, user_id: str, options: FactsOptions = FactsOptions()
) -> Iterator[rows.Related]:
    """List the relations between the concepts of a user."""
    yield from recall.facts(ctx, text_argument("userId", user_id), options)


@procedure("rules.check")
def check(
    ctx: Context, rule: RuleInput, options: CheckOptions = CheckOptions()
) -> Iterator[rows.Checked]:
    """Compare a rule with the others of its scope without writing it."""
    stated = rule.stated
    now = options.now or store.transaction_time(ctx)
    found = Rule("", stated.scope, stated.reading, stated.text, (stated.asserted(now, now, ""),))
    others = sorted(store.rules_of(ctx, [stated.scope]).rules, key=_id)
    compared = ((other, changes.verdict_on(found, other)) for other in others)
    related = (
        (other, verdict)
        for other, verdict in compared
        if verdict.kind != "compatible" or other.reading.slot == stated.reading.slot
    )
    for other, verdict in _page(related, options, lambda each: _id(each[0])):
        yield rows.Checked(
            rule_id=other.rule_id,
            verdict=verdict.kind,
            layer=verdict.layer,
            reason=verdict.reason,
        )


@procedure("rules.active")
def active(
    ctx: Context,
    user_id: str,
    scope: ScopeKind = "global",
    scope_id: str = "",
    options: ActiveOptions = ActiveOptions(),
) -> Iterator[rows.Active]:
    """List the rules of a user that are visible in a scope, active ones first, with reasons."""
    reader = Reader.parse(user_id, scope, scope_id, options)
    moment = _moment(ctx, options)
    rule_set = store.rules_of(ctx, reader.scopes)
    decisions = select(rule_set.rules, rule_set.contradictions(moment.known), moment, reader)
    for decision in _page(decisions, options, lambda each: _id(each.contender.rule)):
        rule = decision.contender.rule
        yield rows.Active(
            id=rule.rule_id,
            text=rule.text,
            status=decision.status,
            reason=decision.reason,
            decided_by=decision.decided_by,
            explanation=explanation(decision, moment),
        )


@procedure("rules.context")
def context(
    ctx: Context,
    input: ContextInput,  # noqa: A002 - its name in Cypher
    options: ContextOptions = ContextOptions(),
) -> rows.Contextual:
    """Return the context of a task: entities, relations, active rules and their sources."""
    limits = SearchLimits(
        user=input.user_id,
        known=options.known,
        deadline=options.deadline(ctx.deadline),
        bounds=replace(BOUNDS, entities=min(options.limit, BOUNDS.entities)),
    )
    return rows.Contextual(graph_context=graph_context(ctx, input, _moment(ctx, options), limits))


@procedure("rules.explain")
def explain(
    ctx: Context, rule_id: str, options: ExplainOptions = ExplainOptions()
) -> Iterator[rows.Explained]:
    """Explain step by step why a rule is active or not, for a reader in its or another scope."""
    rule = store.find_rule(ctx, rule_id)
    if rule is None:
        return
    reader = Reader.of(rule.scope)
    if options.scope is not None:
        user = options.user_id or rule.scope.user
        reader = Reader.parse(user, options.scope, options.scope_id, options)
    moment = _moment(ctx, options)
    decision = decide_about(ctx, rule, reader, moment)
    if decision is not None:
        yield from steps_of(decision, moment)


@procedure("rules.history")
def history(
    ctx: Context, rule_id: str, options: HistoryOptions = HistoryOptions()
) -> Iterator[rows.Happened]:
    """List the events of a rule, the earliest first."""
    yield from store.history_of(ctx, rule_id, options.page)


@procedure("rules.contradictions")
def contradictions(
    ctx: Context,
    user_id: str,
    scope: ScopeKind = "global",
    scope_id: str = "",
    options: ContradictionsOptions = ContradictionsOptions(),
) -> Iterator[rows.Contradicting]:
    """List the recorded contradictions of one scope, the earliest first."""
    where = scope_argument(user_id, scope, scope_id)
    yield from store.recorded_in(ctx, where, options.known, options.page)


@procedure("rules.record", mode="WRITE")
def record(ctx: Context, nodes: list[Node]) -> Iterator[rows.Recorded]:
    """Check rules that were written by plain Cypher. The trigger `rules-guard` calls it."""
    strategy = ctx.resource(Configuration).settings.strategy
    yield from adoption.record_nodes(ctx, nodes, strategy)


@procedure("rules.recheck", mode="WRITE")
def recheck(ctx: Context, options: LimitOptions = LimitOptions()) -> Iterator[rows.Rechecked]:
    """Check the rules that were written while no sidecar was running."""
    strategy = ctx.resource(Configuration).settings.strategy
    yield from adoption.recheck(ctx, options.limit, strategy)


@procedure("rules.unknown")
def unknown(
    ctx: Context, rule_id: str, options: PageOptions = PageOptions()
) -> Iterator[rows.Unknown]:
    """List the rules in the scope of a rule that the detector cannot compare with it."""
    rule = store.find_rule(ctx, rule_id)
    if rule is None:
        return
    rev = changes.revision_of(ctx, rule)
    for other in _page(changes.unknown_to(ctx, rule), options, _id):
        yield rows.Unknown(other_id=other.rule_id, text=rule.text, other_text=other.text, rev=rev)


@procedure("rules.suspect", mode="WRITE")
def suspect(
    ctx: Context, rule_id: str, judgements: list[JudgementInput], rev: int
) -> rows.RuleStatus:
    """Record contradictions that a model suspects. The rule becomes at most contested."""
    rule = store.get_rule(ctx, rule_id)
    held = lock(ctx, rule.scope)
    changes.check_unchanged(rule, rev, held)
    moment = ctx.resource(Configuration).moment(MomentOptions(), held.now)
    changes.suspect(ctx, rule, judgements, held, moment.strategy)
    return _status_of(ctx, rule, moment)


def _write_feedback(
    ctx: Context, rule_id: str, extraction: ExtractionInput, feedback: changes.Feedback
) -> rows.RuleStatus:
    """Write a confirmation or retraction, and return the new status of the rule."""
    source = extraction.stated
    rule = store.get_rule(ctx, rule_id)
    held = lock(ctx, rule.scope)
    store.write_extraction(ctx, rule.scope.user, source)
    changes.write_feedback(ctx, feedback, rule, source, held)
    moment = ctx.resource(Configuration).moment(MomentOptions(), held.now)
    return _status_of(ctx, rule, moment)


def _status_of(ctx: Context, rule: Rule, moment: Moment) -> rows.RuleStatus:
    """Return the status of a rule after a write."""
    decision = outcome_for(ctx, rule.rule_id, Reader.of(rule.scope), rule.reading, moment)
    return rows.RuleStatus(id=rule.rule_id, status=decision.status, reason=decision.reason)


def _id(rule: Rule) -> str:
    return rule.rule_id


def _page(found: Iterable[_T], options: PageOptions, id_of: Callable[[_T], str]) -> Iterator[_T]:
    """Return the requested page of a list.

    Raises:
        InvalidArgument: The cursor is not in the list.
    """
    remaining = iter(found)
    # `all` consumes the list up to and including the cursor.
    if options.cursor is not None and all(id_of(each) != options.cursor for each in remaining):
        raise InvalidArgument(
            f"The list has no rule `{shown_id(options.cursor)}`, which the `cursor` names",
            hint="Give the id of a rule of an earlier page, or begin again without a `cursor`.",
        )
    return islice(remaining, options.limit)


def _moment(ctx: Context, options: ReadOptions) -> Moment:
    now = options.now or store.transaction_time(ctx)
    return ctx.resource(Configuration).moment(options, now)
