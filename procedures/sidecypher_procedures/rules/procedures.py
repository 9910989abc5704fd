"""`rules.*` as Cypher sees it."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import Any, Final

from sidecypher import Context, Node, procedure
from sidecypher_procedures.rules.adoption import recheck as recheck_rules
from sidecypher_procedures.rules.adoption import record_nodes
from sidecypher_procedures.rules.checking import verdict_on
from sidecypher_procedures.rules.deciding import decide_about, outcome_for
from sidecypher_procedures.rules.explaining import explain as steps_of
from sidecypher_procedures.rules.explaining import explanation
from sidecypher_procedures.rules.findings import Findings
from sidecypher_procedures.rules.history import history_of
from sidecypher_procedures.rules.inputs import ExtractionInput, Options, RuleInput, parse_scope
from sidecypher_procedures.rules.locking import Lock, lock
from sidecypher_procedures.rules.model import Rule
from sidecypher_procedures.rules.provenance import write_extraction
from sidecypher_procedures.rules.ranking import Moment
from sidecypher_procedures.rules.reading import (
    recorded_in,
    rule_named,
    rules_like,
    rules_of,
    transaction_time,
)
from sidecypher_procedures.rules.remembering import remember as write_findings
from sidecypher_procedures.rules.retrieval import (
    BOUNDS,
    ContextRequest,
    Reach,
    graph_context,
)
from sidecypher_procedures.rules.rows import (
    Active,
    Added,
    Checked,
    Contextual,
    Contradicting,
    Explained,
    Happened,
    Rechecked,
    Recorded,
    Remembered,
    Standing,
    Unknown,
)
from sidecypher_procedures.rules.selection import Reader, select
from sidecypher_procedures.rules.settings import Configuration
from sidecypher_procedures.rules.suspecting import (
    Judgement,
    check_unchanged,
    revision_of,
    unknown_to,
)
from sidecypher_procedures.rules.suspecting import suspect as write_suspicions
from sidecypher_procedures.rules.writing import confirm_rule, retract_rule, state_rule

NO_OPTIONS: Final[dict[str, Any]] = {}


@procedure("rules.add", mode="WRITE")
def add(
    ctx: Context,
    rule: dict[str, Any],
    extraction: dict[str, Any],
    options: dict[str, Any] = NO_OPTIONS,
) -> Added:
    """State a rule of a user, with where it comes from; contradictions are recorded."""
    stated, source = RuleInput.parse(rule), ExtractionInput.parse(extraction)
    wanted = Options.parse(options, ("now", "strategy"))
    configuration = ctx.resource(Configuration)
    held = lock(ctx, stated.scope)
    moment = configuration.moment(wanted, held.now)
    write_extraction(ctx, stated.scope.user, source)
    written = state_rule(ctx, stated, source, held, moment)
    decision = outcome_for(ctx, written.rule_id, Reader.of(stated.scope), stated.reading, moment)
    return Added(
        rule_id=written.rule_id,
        status=decision.status,
        reason=decision.reason,
        contradicts=list(written.contradicts),
        extraction_id=source.extraction_id,
        created=written.created,
    )


@procedure("rules.confirm", mode="WRITE")
def confirm(ctx: Context, rule_id: str, extraction: dict[str, Any]) -> Standing:
    """Write that the user confirms a rule: it then wins over what is not confirmed."""
    return _say(ctx, rule_id, extraction, confirm_rule)


@procedure("rules.retract", mode="WRITE")
def retract(ctx: Context, rule_id: str, extraction: dict[str, Any]) -> Standing:
    """Write that the user takes a rule back; nothing is deleted."""
    return _say(ctx, rule_id, extraction, retract_rule)


@procedure("rules.remember", mode="WRITE")
def remember(
    ctx: Context,
    input: dict[str, Any],  # noqa: A002 - the name that Cypher shows
    options: dict[str, Any] = NO_OPTIONS,
) -> Remembered:
    """Write what was found in a text, or find it: concepts, facts and rules of one extraction."""
    findings, wanted = Findings.parse(input), Options.parse(options, ("now", "strategy"))
    configuration = ctx.resource(Configuration)
    choose = partial(configuration.moment, wanted)
    done = write_findings(ctx, findings, choose)
    extraction_id = findings.extraction.extraction_id
    rules = []
    # Told when all is written, since a later rule may beat an earlier one.
    for rule, written in zip(findings.rules, done.rules, strict=True):
        moment = choose(done.held[rule.scope].now)
        decision = outcome_for(ctx, written.rule_id, Reader.of(rule.scope), rule.reading, moment)
        rules.append(
            {
                "ruleId": written.rule_id,
                "status": decision.status,
                "reason": decision.reason,
                "contradicts": list(written.contradicts),
                "extractionId": extraction_id,
                "created": written.created,
            }
        )
    return Remembered(
        extraction_id=extraction_id,
        concepts=done.concepts,
        facts=done.facts,
        rules=rules,
        left_out=[{"text": each.text, "reason": each.reason} for each in findings.left_out],
    )


@procedure("rules.check")
def check(
    ctx: Context, rule: dict[str, Any], options: dict[str, Any] = NO_OPTIONS
) -> Iterator[Checked]:
    """Tell what a rule would mean for the others of its scope; nothing is written."""
    stated, wanted = RuleInput.parse(rule), Options.parse(options, ("now", "limit"))
    now = wanted.now or transaction_time(ctx)
    found = Rule("", stated.scope, stated.reading, stated.text, (stated.asserted(now, now, ""),))
    others = sorted(
        rules_like(ctx, [stated.scope], stated.reading).rules, key=lambda each: each.rule_id
    )
    for other in islice(others, wanted.limit):
        verdict = verdict_on(found, other)
        yield Checked(
            rule_id=other.rule_id,
            verdict=verdict.kind,
            layer=verdict.layer,
            reason=verdict.reason,
        )


@procedure("rules.active")
def active(
    ctx: Context,
    user: str,
    scope: str = "global",
    scope_id: str = "",
    options: dict[str, Any] = NO_OPTIONS,
) -> Iterator[Active]:
    """List the rules of a user that a scope can see, active ones first, each with its reason."""
    wanted = Options.parse(options, ("now", "known", "strategy", "limit", "projectId"))
    reader = Reader.parse(user, scope, scope_id, wanted.project_id)
    moment = _moment(ctx, wanted)
    shelf = rules_of(ctx, reader.scopes)
    decisions = select(shelf.rules, shelf.contradictions(moment.known), moment, reader)
    for decision in islice(decisions, wanted.limit):
        yield Active(
            rule_id=decision.contender.rule.rule_id,
            text=decision.contender.rule.text,
            status=decision.status,
            reason=decision.reason,
            by=None if decision.by is None else decision.by.rule_id,
            explanation=explanation(decision, moment),
        )


@procedure("rules.context")
def context(
    ctx: Context,
    input: dict[str, Any],  # noqa: A002 - its name in Cypher
    options: dict[str, Any] = NO_OPTIONS,
) -> Contextual:
    """Tell what to know before writing: entities, relations, rules that hold, and their sources."""
    wanted = Options.parse(options, ("now", "known", "strategy", "limit", "deadlineMs"))
    request = ContextRequest.parse(input)
    reach = Reach(
        user=request.user,
        known=wanted.known,
        deadline=wanted.deadline(ctx.deadline),
        bounds=replace(BOUNDS, entities=min(wanted.limit, BOUNDS.entities)),
    )
    found = graph_context(ctx, request, _moment(ctx, wanted), reach)
    return Contextual(graph_context=found)


@procedure("rules.explain")
def explain(
    ctx: Context, rule_id: str, options: dict[str, Any] = NO_OPTIONS
) -> Iterator[Explained]:
    """Tell step by step why a rule is active or not, to a reader in its own or another scope."""
    keys = ("now", "known", "strategy", "scope", "scopeId", "projectId")
    wanted = Options.parse(options, keys)
    moment = _moment(ctx, wanted)
    rule = rule_named(ctx, rule_id)
    reader = Reader.of(rule.scope)
    if wanted.scope is not None:
        user = rule.scope.user
        reader = Reader.parse(user, wanted.scope, wanted.scope_id, wanted.project_id)
    decision = decide_about(ctx, rule_id, reader, moment)
    for number, step in enumerate(steps_of(decision, moment), start=1):
        yield Explained(step=number, text=step.text, facts=step.facts)


@procedure("rules.history")
def history(ctx: Context, rule_id: str) -> Iterator[Happened]:
    """Tell what happened to a rule, the earliest first."""
    for event in history_of(ctx, rule_id):
        yield Happened(
            at=event.at, kind=event.kind, extraction_id=event.extraction_id, facts=event.facts
        )


@procedure("rules.contradictions")
def contradictions(
    ctx: Context,
    user: str,
    scope: str = "global",
    scope_id: str = "",
    options: dict[str, Any] = NO_OPTIONS,
) -> Iterator[Contradicting]:
    """List the recorded contradictions of one scope, the earliest first."""
    wanted = Options.parse(options, ("known", "limit"))
    where = parse_scope(user, scope, scope_id)
    for each in islice(recorded_in(ctx, where, wanted.known), wanted.limit):
        yield Contradicting(
            rule_id=each.rule_id,
            other_id=each.other_id,
            reason=each.reason,
            detector=each.detector,
            detector_version=each.detector_version,
            created_at=each.created_at,
            extraction_id=each.extraction_id,
        )


@procedure("rules.record", mode="WRITE")
def record(ctx: Context, nodes: list[Node]) -> list[Recorded]:
    """Check rules that were written by plain Cypher; the trigger `rules-guard` calls it."""
    strategy = ctx.resource(Configuration).settings.strategy
    return [
        Recorded(rule_id=each.rule_id, contradicts=list(each.contradicts))
        for each in record_nodes(ctx, nodes, strategy)
    ]


@procedure("rules.recheck", mode="WRITE")
def recheck(ctx: Context, options: dict[str, Any] = NO_OPTIONS) -> list[Rechecked]:
    """Check the rules that were written while no sidecar could."""
    strategy = ctx.resource(Configuration).settings.strategy
    limit = Options.parse(options, ("limit",)).limit
    return [
        Rechecked(rule_id=each.rule_id, contradicts=list(each.contradicts), problem=each.problem)
        for each in recheck_rules(ctx, limit, strategy)
    ]


@procedure("rules.unknown")
def unknown(ctx: Context, rule_id: str, options: dict[str, Any] = NO_OPTIONS) -> Iterator[Unknown]:
    """List the rules of its scope of which the detector cannot tell if they contradict a rule."""
    wanted = Options.parse(options, ("limit",))
    rule = rule_named(ctx, rule_id)
    rev = revision_of(ctx, rule)
    for other in unknown_to(ctx, rule, wanted.limit):
        yield Unknown(other_id=other.rule_id, text=rule.text, other_text=other.text, rev=rev)


@procedure("rules.suspect", mode="WRITE")
def suspect(ctx: Context, rule_id: str, judgements: list[dict[str, Any]], rev: int) -> Standing:
    """Record what a model suspects about a rule: it contests, and never wins in silence."""
    found = [Judgement.parse(each) for each in judgements]
    rule = rule_named(ctx, rule_id)
    held = lock(ctx, rule.scope)
    configuration = ctx.resource(Configuration)
    check_unchanged(rule, rev, held)
    write_suspicions(ctx, rule, found, held, configuration.settings.strategy)
    moment = configuration.moment(Options(), held.now)
    decision = outcome_for(ctx, rule_id, Reader.of(rule.scope), rule.reading, moment)
    return Standing(rule_id=rule_id, status=decision.status, reason=decision.reason)


def _say(
    ctx: Context,
    rule_id: str,
    extraction: dict[str, Any],
    write: Callable[[Context, Rule, ExtractionInput, Lock], None],
) -> Standing:
    """Write a confirmation or retraction, and tell how the rule stands then."""
    source = ExtractionInput.parse(extraction)
    rule = rule_named(ctx, rule_id)
    held = lock(ctx, rule.scope)
    write_extraction(ctx, rule.scope.user, source)
    write(ctx, rule, source, held)
    moment = ctx.resource(Configuration).moment(Options(), held.now)
    decision = outcome_for(ctx, rule_id, Reader.of(rule.scope), rule.reading, moment)
    return Standing(rule_id=rule.rule_id, status=decision.status, reason=decision.reason)


def _moment(ctx: Context, options: Options) -> Moment:
    now = options.now or transaction_time(ctx)
    return ctx.resource(Configuration).moment(options, now)
