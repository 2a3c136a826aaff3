"""From a trace database to what the rules say of each trace: claims are made, allocated in order, and ranked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from traceq.analysis.categories import IDLE
from traceq.database.query import ask
from traceq.database.sql import statement
from traceq.diagnosis.account.account import account_lines, lines_of_other_devices
from traceq.diagnosis.account.line import Line
from traceq.diagnosis.advice import Advice, Remark
from traceq.diagnosis.allocate import Allocated, Proposal, allocate
from traceq.diagnosis.broken import catch_outcomes
from traceq.diagnosis.claim import AskedQuery
from traceq.diagnosis.finding import Clean, Failed, Finding, NotApplicable, Observation
from traceq.diagnosis.findings import finding_id, make_finding, make_observation
from traceq.diagnosis.in_job import bound_by_job, leave_to_job
from traceq.diagnosis.needs import NothingThere, Present
from traceq.diagnosis.packs import add_extra_parts, count_left_out, keep_extra, select_rules, split_by_capture
from traceq.diagnosis.program import program_of
from traceq.diagnosis.query import Scaled, Workspace
from traceq.diagnosis.record import RuleRecord, load_record
from traceq.diagnosis.rules.registry import Rule, default_rules
from traceq.diagnosis.same_fix import attach_small_effects, merge_same_fix
from traceq.diagnosis.subject import WORTH_LISTING, Goal, Subject
from traceq.diagnosis.triage import triage_of
from traceq.formats.capabilities import format_of

if TYPE_CHECKING:
    import duckdb

# A cause of which less than this share of what its rule says could go is won yields its time to others.
_LITTLE_OF_CLAIM = 0.1
_NOT_FOUND = "not found, or below 1 % of the step"


class Judged(msgspec.Struct, frozen=True):
    """The judgement on a trace: findings ranked by saving, observations, and the other rules by outcome.

    `small` names rules whose savings are below WORTH_LISTING (a share of the step). Where `asked` is false no rule was
    asked, so that the lack of findings says nothing. `account` has a verdict on every line of each device's ledger, the
    critical device first. `extra_findings` are those of the pack extra, if asked, ranked; they may share time with
    findings. `extra_left_out` is the number of rules of that pack that apply to the trace, but were not asked.
    """

    trace_id: int
    findings: tuple[Finding, ...]
    observations: tuple[Observation, ...]
    small: tuple[str, ...]
    clean: tuple[Clean, ...]
    not_applicable: tuple[NotApplicable, ...]
    failed: tuple[Failed, ...]
    asked: bool = True
    account: tuple[Line, ...] = ()
    extra_findings: tuple[Finding, ...] = ()
    extra_left_out: int = 0

    @property
    def every_finding(self) -> tuple[Finding, ...]:
        """The ranked findings, followed by the ranked findings of the pack extra."""
        return (*self.findings, *self.extra_findings)


def judge(
    connection: duckdb.DuckDBPyConnection,
    goal: Goal = "throughput",
    rules: Sequence[Rule] | None = None,
    scaled: Scaled | None = None,
    record: RuleRecord | None = None,
) -> tuple[Judged, ...]:
    """Judge every trace of the database, in the order of ingest, by `rules` (default: the default rules).

    `scaled` has factors for thresholds by their keys (see traceq.diagnosis.query.all_thresholds), to see what depends
    on them. `record` says how often rules were right, and decides the confidences; by default it is traceq's own.
    """
    chosen = default_rules() if rules is None else rules
    return tuple(judge_subject(subject, chosen) for subject in load_subjects(connection, goal, scaled, record=record))


def load_subjects(
    connection: duckdb.DuckDBPyConnection,
    goal: Goal = "throughput",
    scaled: Scaled | None = None,
    traces: Collection[int] | None = None,
    record: RuleRecord | None = None,
) -> list[Subject]:
    """Return the traces with these ids (default: all) as subjects to judge, in the order of ingest.

    `scaled` has factors for thresholds by their keys; `record` says how often rules were right (default: traceq's own).
    """
    found = ask(connection, statement("diagnosis/sql/traces.sql"))
    return [
        _load_subject(connection, trace, place, goal, scaled or {}, load_record() if record is None else record)
        for trace, place in zip(found, _complete_ids(found), strict=True)
        if traces is None or trace["trace_id"] in traces
    ]


def _complete_ids(traces: Sequence[dict[str, Any]]) -> list[str]:
    """Return for each trace the ending of its findings' ids: "@RUN@rankN", each part only where known.

    Traces of the same run and rank get the first 8 digits of their file's hash as a further part.
    """
    parts = [[trace["run"], None if trace["rank"] is None else f"rank{trace['rank']}"] for trace in traces]
    taken = Counter(map(tuple, parts))
    for part, trace in zip(parts, traces, strict=True):
        if taken[tuple(part)] > 1:
            part.append(trace["sha256"][:8])
    return ["".join(f"@{word}" for word in part if word) for part in parts]


def _load_subject(
    connection: duckdb.DuckDBPyConnection,
    trace: dict[str, Any],
    place: str,
    goal: Goal,
    scaled: Scaled,
    record: RuleRecord,
) -> Subject:
    """Return the row `trace` of traces.sql as a subject; `place` is the ending of its findings' ids."""
    device = -2 if trace["device"] is None else trace["device"]
    capability = trace["compute_capability"]
    ledgers = _load_ledgers(connection, trace["trace_id"])
    ledger = _load_host_ledger(connection, trace["trace_id"]) if trace["device"] is None else ledgers.get(device, {})
    triage = triage_of(connection, trace["trace_id"])
    # idle time is only what was left out of a sample, or nothing was to run
    judges_idle = triage is None or triage.reason not in ("sampled", "graph_capture")
    if not judges_idle:
        ledger = {category: dur for category, dur in ledger.items() if category not in IDLE}
    return Subject(
        connection=connection,
        workspace=Workspace(connection, trace["trace_id"], device, scaled),
        trace_id=trace["trace_id"],
        rank=trace["rank"],
        world_size=trace["world_size"],
        place=place,
        format=trace["format"],
        device=trace["device"],
        device_name=trace["device_name"],
        devices=trace["devices"],
        compute_capability=float(capability) if capability else None,
        steps=trace["steps"],
        step_ns=trace["step_ns"] or 0.0,
        is_window=trace["step_source"] == "window",
        judges_idle=judges_idle,
        program=program_of(connection, trace["trace_id"]),
        triage=triage,
        goal=goal,
        is_recording=trace["is_recording"],
        has_compile_log=trace["has_compile_log"],
        present=Present(connection, trace["trace_id"], device, trace["steps"]),
        record=record.for_recordings() if trace["is_recording"] else record,
        # A ledger without steps is that of a database that somebody changed: nothing can be told of a step then.
        ledger={category: dur / trace["steps"] for category, dur in ledger.items()} if trace["steps"] else {},
        ledgers=ledgers,
    )


def _load_ledgers(connection: duckdb.DuckDBPyConnection, trace_id: int) -> dict[int, dict[str, int]]:
    """Return for each device the time in each category of the ledger over the counted steps, ns."""
    ledgers: dict[int, dict[str, int]] = {}
    for row in ask(connection, statement("analysis/ledger/ledger.sql"), trace_id=trace_id):
        ledgers.setdefault(row["device"], {})[row["category"]] = row["dur"]
    return ledgers


def _load_host_ledger(connection: duckdb.DuckDBPyConnection, trace_id: int) -> dict[str, int]:
    """Return the training thread's time in each category of host_ledger over the counted steps, ns."""
    found = ask(connection, statement("diagnosis/sql/host_ledger.sql"), trace_id=trace_id)
    return {row["category"]: row["dur"] for row in found}


def not_asked(trace_id: int) -> Judged:
    """Return an empty judgement on the trace, which says that no rule was asked."""
    return Judged(trace_id, (), (), (), (), (), (), asked=False)


def judge_subject(subject: Subject, rules: Sequence[Rule]) -> Judged:
    """Judge a trace by `rules`: ask those that suit its capture, allocate its time, and rank the findings.

    Temp tables are dropped, also on an error. The account has the lines of other devices after those of the critical
    device.
    """
    try:
        judged = _judge_subject(subject, rules)
    finally:
        subject.workspace.drop()
    if not judged.account:
        return judged
    return replace(judged, account=(*judged.account, *lines_of_other_devices(subject, judged.account)))


def _judge_subject(subject: Subject, rules: Sequence[Rule]) -> Judged:
    """Judge a trace by `rules`; the account is of the critical device only, and temp tables are left behind."""
    proposals: list[Proposal] = []
    observations: list[Observation] = []
    clean: list[Clean] = []
    broken: list[Failed] = []
    has_gpu = subject.device is not None
    selected = select_rules(
        rules, has_gpu=has_gpu, is_recording=subject.is_recording, has_compile_log=subject.has_compile_log
    )
    asked, not_applicable = leave_to_job(subject, selected)
    if not format_of(subject.format).has_times:
        asked = [rule for rule in asked if rule.of_allocations]
    asked, silent = split_by_capture(subject.triage, asked)
    not_applicable += silent
    for rule in asked:
        name, title = rule.name, rule.manual.title
        with catch_outcomes(name, title, not_applicable, broken):
            try:
                judgements = list(judge_by(rule, subject))
            except NothingThere as error:
                clean.append(Clean(name, title, str(error)))
                continue
            observations += [
                make_observation(subject, rule, judgement)
                for judgement in judgements
                if not isinstance(judgement, Advice)
            ]
            proposals += [Proposal(rule, judgement) for judgement in judgements if isinstance(judgement, Advice)]
            if not judgements:
                clean.append(Clean(name, title, _NOT_FOUND))
    confirmed = [proposal for proposal in proposals if not proposal.rule.is_extra]
    findings = _rank_findings(subject, confirmed, not_applicable, broken)
    account = _draw_up_account(subject, findings, confirmed)
    extra: list[Finding] = []
    if len(confirmed) < len(proposals):
        # what a rule that nothing has confirmed takes for its own is missing in no other finding
        together = _rank_findings(subject, proposals, not_applicable, broken)
        findings, extra = add_extra_parts(findings, together), keep_extra(together)
    every = [*findings, *extra]
    listed = {finding.rule for finding in every} | {failed.rule for failed in broken}
    listed |= {part.rule for finding in every for part in finding.parts}
    return Judged(
        trace_id=subject.trace_id,
        findings=tuple(findings),
        observations=tuple(sorted(observations, key=lambda each: each.is_extra)),
        small=tuple(dict.fromkeys(proposal.rule.name for proposal in proposals if proposal.rule.name not in listed)),
        clean=tuple(clean),
        not_applicable=tuple(dict.fromkeys(not_applicable)),
        failed=tuple(dict.fromkeys(broken)),
        account=account,
        extra_findings=tuple(extra),
        extra_left_out=count_left_out(selected, has_gpu=has_gpu),
    )


def judge_by(rule: Rule, subject: Subject) -> Iterator[Advice | Remark]:
    """Yield what the rule says of the trace, with the queries that were asked for it, or for all that the rule says."""
    subject.take_asked()
    asked: list[AskedQuery] = []
    for said in rule.judge(subject):
        asked += subject.take_asked()
        claim = said.claim.number if isinstance(said, Advice) else None
        yield replace(said, asked=tuple(query for query in asked if query.claim is None or query.claim.number == claim))


def _rank_findings(
    subject: Subject, proposals: Sequence[Proposal], not_applicable: list[NotApplicable], broken: list[Failed]
) -> list[Finding]:
    """Return findings for the proposals, the largest saving first: time is allocated, and findings of one fix are merged.

    Outcomes of rules whose evidence cannot be shown are added to `not_applicable` and `broken`.
    """
    found: list[tuple[str, Finding]] = []
    listed_first = _allocate_time(subject, proposals)
    subject.locate(allocated.proposal.advice.claim for allocated in listed_first)
    for allocated in listed_first:
        rule = allocated.proposal.rule
        # columns that cannot be shown break their rule, not the others
        with catch_outcomes(rule.name, rule.manual.title, not_applicable, broken):
            found.append((allocated.proposal.advice.same_fix, make_finding(subject, allocated)))
    made_by = {proposal.rule.name: proposal.advice.made_by for proposal in proposals if proposal.advice.made_by}
    findings = bound_by_job(subject, attach_small_effects(merge_same_fix(found), made_by))
    return sorted(findings, key=lambda each: (-each.saving_ns, each.finding_id))


def _draw_up_account(subject: Subject, findings: Sequence[Finding], proposals: Sequence[Proposal]) -> tuple[Line, ...]:
    """Return a line for each category of the critical device's ledger, of `findings` and claims of `proposals`.

    Empty where the capture holds nothing to judge.
    """
    if subject.triage is not None and not subject.triage.is_judged:
        return ()
    claims = {number: finding_id(subject, *each) for number, each in enumerate(_order_proposals(subject, proposals))}
    return account_lines(subject, findings, claims)


def _allocate_time(subject: Subject, proposals: Sequence[Proposal]) -> list[Allocated]:
    """Return the advice worth listing with the time that it owns, in the order in which it was served."""
    held = {category: ns * subject.steps for category, ns in subject.ledger.items()}
    return allocate(subject, _order_proposals(subject, proposals), held, WORTH_LISTING * subject.step_ns)


def _order_proposals(subject: Subject, proposals: Sequence[Proposal]) -> list[Proposal]:
    """Return the proposals that save at least 1 % of a step (WORTH_LISTING), in the order in which time is allocated to them.

    This is the order given, that of the rules, in which a cause comes before its effects; but causes that can win
    little of their time come last, where a GPU works. Without a GPU no replay says what can be won, and the order
    stays.
    """
    found = [proposal for proposal in proposals if proposal.advice.claim.saving_ns >= WORTH_LISTING * subject.step_ns]
    if subject.device is None:
        return found
    return sorted(found, key=lambda each: _wins_little(each) and not each.advice.is_rest)


def _wins_little(proposal: Proposal) -> bool:
    """Return whether the replay saves under a tenth of the time that the rule expects to save."""
    claim = proposal.advice.claim
    return claim.saving_ns < _LITTLE_OF_CLAIM * claim.rule_share * claim.claimed_ns
