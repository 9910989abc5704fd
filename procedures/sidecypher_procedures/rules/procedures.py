"""`rules.*` as Cypher sees it, and its settings."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from itertools import dropwhile, islice
from typing import Annotated, Final, TypeVar

from pydantic import Field

from sidecypher import Check, CheckContext, Context, Finding, Node, procedure
from sidecypher_procedures.environment import EnvironmentSettings
from sidecypher_procedures.rules.adoption import recheck as recheck_rules
from sidecypher_procedures.rules.adoption import record_nodes
from sidecypher_procedures.rules.changes import confirm_rule, history_of, retract_rule, state_rule
from sidecypher_procedures.rules.conflicts import (
    check_unchanged,
    revision_of,
    unknown_to,
    verdict_on,
)
from sidecypher_procedures.rules.conflicts import suspect as write_suspicions
from sidecypher_procedures.rules.context import graph_context
from sidecypher_procedures.rules.errors import RulesSettingsError
from sidecypher_procedures.rules.extraction import Findings
from sidecypher_procedures.rules.extraction import remember as write_findings
from sidecypher_procedures.rules.model import Lock, Rule, ScopeKind, Source, Strategy, lock
from sidecypher_procedures.rules.options import (
    ActiveOptions,
    CheckOptions,
    ContextInput,
    ContextOptions,
    ContradictionsOptions,
    ExplainOptions,
    ExtractionInput,
    JudgementInput,
    LimitOptions,
    MomentOptions,
    PageOptions,
    ReadOptions,
    RememberInput,
    RuleInput,
    scope_argument,
)
from sidecypher_procedures.rules.ranking import Moment, explanation
from sidecypher_procedures.rules.ranking import explain as steps_of
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
from sidecypher_procedures.rules.selection import (
    BOUNDS,
    Reach,
    Reader,
    decide_about,
    outcome_for,
    select,
)
from sidecypher_procedures.rules.store import (
    recorded_in,
    rule_if_any,
    rule_named,
    rules_like,
    rules_of,
    transaction_time,
    write_extraction,
)

_T = TypeVar("_T")
PREFIX: Final = "SIDECYPHER_RULES_"


class RulesSettings(EnvironmentSettings, env_prefix=PREFIX):
    """Settings, each from the environment variable of its name after ``SIDECYPHER_RULES_``.

    Attributes:
        strategy: Which of two unconfirmed rules of one scope wins.
        confidence_floor: Assertions with less confidence than this are only suspected, 0 to 1.

    Example:
        >>> RulesSettings(strategy="negated-overrides").strategy
        'negated-overrides'
    """

    refusal = RulesSettingsError

    strategy: Strategy = "most-recent-wins"
    confidence_floor: Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)] = 0.0


class Configuration:
    """The settings that all calls of a sidecar share.

    Attributes:
        settings: What was read at the first call.
    """

    def __init__(self) -> None:
        self.settings = RulesSettings.load()

    def strategy(self, options: MomentOptions) -> Strategy:
        """Return the strategy of a call: its option, else the setting."""
        return options.strategy or self.settings.strategy

    def moment(self, options: MomentOptions, now: datetime) -> Moment:
        """Return when and how a call selects.

        Args:
            options: The call's options.
            now: The time of its transaction.
        """
        return Moment(
            now=options.now or now,
            known=options.known if isinstance(options, ReadOptions) else None,
            strategy=self.strategy(options),
            confidence_floor=self.settings.confidence_floor,
        )


@procedure("rules.add", mode="WRITE")
def add(
    ctx: Context,
    rule: RuleInput,
    extraction: ExtractionInput,
    options: MomentOptions = MomentOptions(),
) -> Added:
    """State a rule of a user, with where it comes from; contradictions are recorded."""
    stated, source = rule.stated, extraction.stated
    configuration = ctx.resource(Configuration)
    held = lock(ctx, stated.scope)
    moment = configuration.moment(options, held.now)
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
def confirm(ctx: Context, rule_id: str, extraction: ExtractionInput) -> Standing:
    """Write that the user confirms a rule: it then wins over what is not confirmed."""
    return _say(ctx, rule_id, extraction, confirm_rule)


@procedure("rules.retract", mode="WRITE")
def retract(ctx: Context, rule_id: str, extraction: ExtractionInput) -> Standing:
    """Write that the user takes a rule back; nothing is deleted."""
    return _say(ctx, rule_id, extraction, retract_rule)


@procedure("rules.remember", mode="WRITE")
def remember(
    ctx: Context,
    input: RememberInput,  # noqa: A002 - the name that Cypher shows
    options: MomentOptions = MomentOptions(),
) -> Remembered:
    """Write what was found in a text, or find it: concepts, facts and rules of one extraction."""
    findings = Findings.of(input)
    configuration = ctx.resource(Configuration)
    choose = partial(configuration.moment, options)
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
    ctx: Context, rule: RuleInput, options: CheckOptions = CheckOptions()
) -> Iterator[Checked]:
    """Tell what a rule would mean for the others of its scope; nothing is written."""
    stated = rule.stated
    now = options.now or transaction_time(ctx)
    found = Rule("", stated.scope, stated.reading, stated.text, (stated.asserted(now, now, ""),))
    others = sorted(
        rules_like(ctx, [stated.scope], stated.reading).rules, key=lambda each: each.rule_id
    )
    for other in _page(others, options, lambda each: each.rule_id):
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
    scope: ScopeKind = "global",
    scope_id: str = "",
    options: ActiveOptions = ActiveOptions(),
) -> Iterator[Active]:
    """List the rules of a user that a scope can see, active ones first, each with its reason."""
    reader = Reader.parse(user, scope, scope_id, options.project_id)
    moment = _moment(ctx, options)
    shelf = rules_of(ctx, reader.scopes)
    decisions = select(shelf.rules, shelf.contradictions(moment.known), moment, reader)
    for decision in _page(decisions, options, lambda each: each.contender.rule.rule_id):
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
    input: ContextInput,  # noqa: A002 - its name in Cypher
    options: ContextOptions = ContextOptions(),
) -> Contextual:
    """Tell what to know before writing: entities, relations, rules that hold, and their sources."""
    reach = Reach(
        user=input.user,
        known=options.known,
        deadline=options.deadline(ctx.deadline),
        bounds=replace(BOUNDS, entities=min(options.limit, BOUNDS.entities)),
    )
    found = graph_context(ctx, input, _moment(ctx, options), reach)
    return Contextual(graph_context=found)


@procedure("rules.explain")
def explain(
    ctx: Context, rule_id: str, options: ExplainOptions = ExplainOptions()
) -> Iterator[Explained]:
    """Tell step by step why a rule is active or not, to a reader in its own or another scope."""
    moment = _moment(ctx, options)
    rule = rule_if_any(ctx, rule_id)
    if rule is None:
        return
    reader = Reader.of(rule.scope)
    if options.scope is not None:
        user = rule.scope.user
        reader = Reader.parse(user, options.scope, options.scope_id, options.project_id)
    decision = decide_about(ctx, rule_id, reader, moment)
    for number, step in enumerate(steps_of(decision, moment), start=1):
        yield Explained(step=number, text=step.text, facts=step.facts)


@procedure("rules.history")
def history(ctx: Context, rule_id: str) -> Iterator[Happened]:
    """Tell what happened to a rule, the earliest first."""
    for event in history_of(ctx, rule_id):
        yield Happened(
            created_at=event.at,
            kind=event.kind,
            extraction_id=event.extraction_id,
            facts=event.facts,
        )


@procedure("rules.contradictions")
def contradictions(
    ctx: Context,
    user: str,
    scope: ScopeKind = "global",
    scope_id: str = "",
    options: ContradictionsOptions = ContradictionsOptions(),
) -> Iterator[Contradicting]:
    """List the recorded contradictions of one scope, the earliest first."""
    where = scope_argument(user, scope, scope_id)
    for each in islice(recorded_in(ctx, where, options.known), options.limit):
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
def record(ctx: Context, nodes: list[Node]) -> Iterator[Recorded]:
    """Check rules that were written by plain Cypher; the trigger `rules-guard` calls it."""
    strategy = ctx.resource(Configuration).settings.strategy
    for each in record_nodes(ctx, nodes, strategy):
        yield Recorded(rule_id=each.rule_id, contradicts=list(each.contradicts))


@procedure("rules.recheck", mode="WRITE")
def recheck(ctx: Context, options: LimitOptions = LimitOptions()) -> Iterator[Rechecked]:
    """Check the rules that were written while no sidecar could."""
    strategy = ctx.resource(Configuration).settings.strategy
    limit = options.limit
    for each in recheck_rules(ctx, limit, strategy):
        yield Rechecked(
            rule_id=each.rule_id, contradicts=list(each.contradicts), problem=each.problem
        )


@procedure("rules.unknown")
def unknown(ctx: Context, rule_id: str, options: PageOptions = PageOptions()) -> Iterator[Unknown]:
    """List the rules of its scope of which the detector cannot tell if they contradict a rule."""
    rule = rule_if_any(ctx, rule_id)
    if rule is None:
        return
    rev = revision_of(ctx, rule)
    for other in _page(unknown_to(ctx, rule), options, lambda each: each.rule_id):
        yield Unknown(other_id=other.rule_id, text=rule.text, other_text=other.text, rev=rev)


@procedure("rules.suspect", mode="WRITE")
def suspect(ctx: Context, rule_id: str, judgements: list[JudgementInput], rev: int) -> Standing:
    """Record what a model suspects about a rule: it contests, and never wins in silence."""
    rule = rule_named(ctx, rule_id)
    held = lock(ctx, rule.scope)
    configuration = ctx.resource(Configuration)
    check_unchanged(rule, rev, held)
    write_suspicions(ctx, rule, judgements, held, configuration.settings.strategy)
    moment = configuration.moment(MomentOptions(), held.now)
    decision = outcome_for(ctx, rule_id, Reader.of(rule.scope), rule.reading, moment)
    return Standing(rule_id=rule_id, status=decision.status, reason=decision.reason)


def _say(
    ctx: Context,
    rule_id: str,
    extraction: ExtractionInput,
    write: Callable[[Context, Rule, Source, Lock], None],
) -> Standing:
    """Write a confirmation or retraction, and tell how the rule stands then."""
    source = extraction.stated
    rule = rule_named(ctx, rule_id)
    held = lock(ctx, rule.scope)
    write_extraction(ctx, rule.scope.user, source)
    write(ctx, rule, source, held)
    moment = ctx.resource(Configuration).moment(MomentOptions(), held.now)
    decision = outcome_for(ctx, rule_id, Reader.of(rule.scope), rule.reading, moment)
    return Standing(rule_id=rule.rule_id, status=decision.status, reason=decision.reason)


def _page(rows: Iterable[_T], options: PageOptions, id_of: Callable[[_T], str]) -> Iterator[_T]:
    """Return the rows that are wanted."""
    if options.cursor:
        rows = islice(dropwhile(lambda each: id_of(each) != options.cursor, rows), 1, None)
    return islice(rows, options.limit)


def _moment(ctx: Context, options: ReadOptions) -> Moment:
    now = options.now or transaction_time(ctx)
    return ctx.resource(Configuration).moment(options, now)


def look_at_settings(ctx: CheckContext) -> Finding:
    """Have the procedures read their settings, by a call for a user who has no rules."""
    ctx.call_in_neo4j("rules.active", "sidecypher-doctor", "global", "", {"now": datetime.now(UTC)})
    return Finding.ok("they can be used")


CHECKS: Final = (Check("Rules", "settings", look_at_settings),)
