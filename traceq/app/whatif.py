"""Predict how long the steps would take with a change, by replaying them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from pathlib import PurePath
from typing import TYPE_CHECKING

from msgspec.structs import replace

from traceq.analysis.categories import BUSY, BY_NAME, HOST_LABELS, IDLE
from traceq.analysis.replay.counterfactual import ReplayChange
from traceq.analysis.replay.replayed import SLOWER, UNKNOWN_CAUSE
from traceq.analysis.replay.savings import MOST_ERROR, MOST_UNEXPLAINED, ReplayAccuracy
from traceq.analysis.replay.whatif import NothingToReplay, what_if
from traceq.analysis.replay.whatif import ReplayAnswer as Found
from traceq.app.read_options import AS_FOUND, ReadOptions
from traceq.app.source import Source, open_source
from traceq.app.trace_selection import select_traces
from traceq.app.view import View
from traceq.app.whatif_request import (
    ASKABLE,
    COPIES,
    HOST,
    HOST_MOVABLE,
    HOST_OF,
    MOVABLE,
    NO_LENGTH,
    TRANSFERS,
    WhatIfRequest,
    is_missing,
)
from traceq.common.units import share
from traceq.database.query import ask
from traceq.database.sql import statement
from traceq.database.user_sql import run_interruptibly
from traceq.diagnosis.cache import load_judgements
from traceq.diagnosis.choose import choose
from traceq.diagnosis.finding import Finding
from traceq.diagnosis.host_change import HostChange, HostWon, measure_host_changes
from traceq.diagnosis.judge import load_subjects
from traceq.diagnosis.needs import NEEDS
from traceq.diagnosis.packs import rules_for
from traceq.errors import WrongUse
from traceq.reports.document import Block
from traceq.reports.renderers.whatif_to_json import answer_to_json, choices_to_json
from traceq.reports.whatif.answer import Asked, Choices, Saved, TimePart, WhatIfAnswer, WhatIfChoice
from traceq.reports.whatif.words import compose_answer, compose_choices, describe_changes

if TYPE_CHECKING:
    import duckdb

    from traceq.diagnosis.subject import Subject

# The training thread has to do, or to wait for, so much of what other threads do, or nothing is known of what it costs.
_LEAST_SEEN = 0.5

# Here communication is all of it; in the ledger it is what kernels do not hide.
_WORDS = {"communication": "communication"}


class WhatIfView(View[WhatIfAnswer]):
    """The predicted step after a change; `content` is plain data, times are ns per counted step."""

    def blocks(self) -> Iterable[Block]:
        """Return the document on the result as blocks (headings, verdicts, tables, ...), for every format."""
        return compose_answer(self.content)

    def to_json(self) -> str:
        """Return the result as JSON text, for programs."""
        return answer_to_json(self.content)


class WhatIfChoicesView(View[Choices]):
    """The changes that can be predicted for a trace; `content` is plain data."""

    def blocks(self) -> Iterable[Block]:
        """Return the document on the result as blocks (headings, verdicts, tables, ...), for every format."""
        return compose_choices(self.content)

    def to_json(self) -> str:
        """Return the result as JSON text, for programs."""
        return choices_to_json(self.content)


def whatif(
    source: Source,
    request: WhatIfRequest,
    read: ReadOptions = AS_FOUND,
    *,
    trace: int | None = None,
    rank: int | None = None,
) -> WhatIfView:
    """Predict the duration of the steps with all changes together; traceq.app.api.whatif lists the changes.

    `trace` is a trace_id, by default the first, `rank` its rank. Raises ValueError for an impossible change or one of
    something that the trace lacks, StoreError for a missing finding.
    """
    asked, finding = request.changes(), request.finding
    with open_source(source, "replayed", read) as connection:

        def predict_steps() -> WhatIfView:
            trace_id = _trace_id_of(connection, trace, rank)
            if finding is None:
                return answer_of(connection, asked, trace_id)
            trace_id = _subject_of(connection, trace_id).trace_id
            ((subject, judge),) = load_judgements(connection, rules=rules_for(finding), traces=[trace_id])
            chosen = choose(finding, {trace_id: judge().every_finding}).finding
            if subject.device is None:
                facts = replace(_facts_before(connection, subject, (Asked("remove", chosen.rule),)), finding=chosen)
                return WhatIfView(_without_finding(facts, chosen))
            without = _changes_without(subject, finding, chosen)
            return WhatIfView(replace(answer_of(connection, without, trace_id).content, finding=chosen))

        return run_interruptibly(connection, predict_steps)


def whatif_choices(
    source: Source, read: ReadOptions = AS_FOUND, *, trace: int | None = None, rank: int | None = None
) -> WhatIfChoicesView:
    """List what `whatif` can change in a trace; `trace` is a trace_id, by default the first, `rank` its rank."""
    with open_source(source, "replayed", read) as connection:
        return run_interruptibly(connection, lambda: choices_of(connection, _trace_id_of(connection, trace, rank)))


def _trace_id_of(connection: duckdb.DuckDBPyConnection, trace: int | None, rank: int | None) -> int | None:
    """Return the trace_id that `trace` or `rank` names; None if both are None. Raises StoreError if there is no such trace."""
    if rank is None:
        return trace
    return next(iter(select_traces(connection, () if trace is None else (trace,), rank)))


def choices_of(connection: duckdb.DuckDBPyConnection, trace: int | None) -> WhatIfChoicesView:
    """Return the changes that can be predicted for the trace; None means the first."""
    subject = _subject_of(connection, trace)
    times = _times_by_category(connection, subject)
    found = [
        WhatIfChoice(_options_for(name), name, _WORDS.get(name, BY_NAME[name].words), dur)
        for name, dur in times.items()
    ]
    if subject.device is None:
        found += _host_choices(subject.ledger)
    if any(name.startswith("copy") for name in times):
        found.append(WhatIfChoice(("--remove", "--scale", "--overlap"), COPIES, "all copies"))
    if found or subject.ledger:
        found.append(
            WhatIfChoice(("--remove", "--scale", "--move"), "host:GLOB", "host slices by name: host:aten::copy_")
        )
    if any(name in BUSY for name in times):
        found.append(
            WhatIfChoice(("--remove", "--scale", "--overlap"), "kernel:GLOB", "GPU work by name: kernel:*gemm*")
        )
        found.append(WhatIfChoice(("--graph",), "", "kernels launched at once, without gaps"))
    if "communication" in times:
        found.append(WhatIfChoice(("--transfer-only",), "", "no collective waits for another rank"))
    return WhatIfChoicesView(
        Choices(
            subject.trace_id,
            _file_name(connection, subject.trace_id),
            subject.rank,
            subject.steps,
            subject.step_ns or None,
            tuple(found),
        )
    )


def answer_of(connection: duckdb.DuckDBPyConnection, asked: Sequence[Asked], trace: int | None) -> WhatIfView:
    """Predict the steps of the trace (None: the first) with the changes. Raises WrongUse if the trace lacks what they change."""
    subject = _subject_of(connection, trace)
    _check_present(connection, subject, asked)
    facts = _facts_before(connection, subject, asked)
    if subject.device is None:
        answer = _host_answer(subject, facts)
        if answer is None:
            raise _not_there(subject, asked[0])
        return WhatIfView(answer)
    parts = [(request, change) for request in asked for change in _replay_changes(request)]
    with closing(connection.cursor()) as own:
        try:
            found = what_if(own, subject.trace_id, [change for _, change in parts])
        except NothingToReplay as error:
            return WhatIfView(replace(facts, reason=str(error)))
    changed = {
        request for (request, _), is_found in zip(parts, found.found, strict=True) if is_found or request.factor == 1
    }
    for request in asked:
        if request not in changed:
            raise _not_there(subject, request)
    return WhatIfView(_fill_answer(facts, found))


def _facts_before(connection: duckdb.DuckDBPyConnection, subject: Subject, asked: Sequence[Asked]) -> WhatIfAnswer:
    """Return an answer without a prediction: only the recorded facts, such as the trace's steps and ledger, and the changes."""
    return WhatIfAnswer(
        trace_id=subject.trace_id,
        file=_file_name(connection, subject.trace_id),
        rank=subject.rank,
        asked=tuple(asked),
        steps=subject.steps,
        recorded_ns=subject.step_ns or None,
        ledger=tuple(TimePart(name, dur) for name, dur in subject.ledger.items() if dur),
    )


def _changes_without(subject: Subject, name: str, finding: Finding) -> tuple[Asked, ...]:
    """Return the changes that remove the time that a finding owns in each ledger category.

    Raises WrongUse if the replay can remove none of it; `name` is what the user called the finding.
    """
    owned = {category: ns for category, ns in finding.owned_by_category.items() if category in ASKABLE}
    if not owned:
        raise WrongUse(f"{name}: the replay cannot remove the time it owns: {', '.join(finding.owned_by_category)}.")
    return tuple(
        Asked("remove", category)
        if category in NO_LENGTH or ns >= subject.ledger[category]
        else Asked("scale", category, round(1 - ns / subject.ledger[category], 4))
        for category, ns in owned.items()
    )


def _replay_changes(asked: Asked) -> list[ReplayChange]:
    """Return the requested change as changes of a replay: one for each category that it affects."""
    of_everything = {"graph": "kernels", "transfer": "communication"}
    what = [asked.what or of_everything[asked.kind]]
    if asked.what == COPIES and asked.kind != "overlap":
        what = [name for name in BUSY if name.startswith("copy")]
    slower = SLOWER if asked.kind == "move" else 0.0
    return [ReplayChange(asked.kind, name, asked.factor or 0.0, slower) for name in what]


def _fill_answer(facts: WhatIfAnswer, found: Found) -> WhatIfAnswer:
    """Return the answer with the results of the replay: the step before and after, the saving, its error, and what limits it."""
    return replace(
        facts,
        steps=found.steps,
        recorded_ns=found.recorded_ns,
        replayed_ns=found.before_ns,
        after_ns=found.after_ns,
        saved=Saved(low_ns=found.saved.low, likely_ns=found.saved.likely, high_ns=found.saved.high),
        error_share=found.told.error,
        unexplained_share=found.told.unexplained,
        reason=_doubt_of(found.told, facts.asked),
        limits=tuple(TimePart(part.category, part.dur_ns) for part in found.limits),
    )


def _doubt_of(told: ReplayAccuracy, asked: Sequence[Asked]) -> str | None:
    """Return why a likely saving cannot be told by this replay; None if it can."""
    if told.error > MOST_ERROR:
        return f"the replay is {share(told.error)} off, more than the {share(MOST_ERROR)} for a likely saving"
    if told.unexplained > MOST_UNEXPLAINED:
        return f"nothing known explains {share(told.unexplained)} of the critical path, more than {share(MOST_UNEXPLAINED)}"
    if any(change.what == UNKNOWN_CAUSE for change in asked):
        return f"nothing shows what the host did in {UNKNOWN_CAUSE}"
    return None


def _subject_of(connection: duckdb.DuckDBPyConnection, trace: int | None) -> Subject:
    """Return the trace with the trace_id, None for the first. Raises WrongUse if there is none."""
    found = load_subjects(connection)
    if not found:
        raise WrongUse("The database has no trace.")
    for subject in found:
        if trace in (None, subject.trace_id):
            return subject
    known = ", ".join(str(subject.trace_id) for subject in found)
    raise WrongUse(f"--trace {trace}: there is no such trace; there are {known}.")


def _check_present(connection: duckdb.DuckDBPyConnection, subject: Subject, asked: Sequence[Asked]) -> None:
    """Raise WrongUse for the first change of something that the trace does not have in its counted steps."""
    times = _times_by_category(connection, subject)
    # Without a GPU nothing is idle; what the host does has these categories all the same.
    present = {*times, *((*IDLE, *HOST) if subject.device is None else ())}
    for change in asked:
        if is_missing(change, present) or (subject.device is None and change.kind in ("overlap", "graph", "transfer")):
            raise _not_there(subject, change)


def _not_there(subject: Subject, asked: Asked) -> WrongUse:
    """Return the error for a change of something that the trace does not have."""
    return WrongUse(
        f"Trace {subject.trace_id} has nothing in its counted steps to {describe_changes([asked])};"
        " traceq whatif SOURCE --list shows what can be changed."
    )


def _times_by_category(connection: duckdb.DuckDBPyConnection, subject: Subject) -> dict[str, float]:
    """Return ns per counted step of each category that can be changed: GPU work, then idle time, longest first."""
    work = ask(connection, statement("reports/sql/whatif_work.sql"), trace_id=subject.trace_id)
    idle = sorted(
        ((name, dur) for name, dur in subject.ledger.items() if name in ASKABLE and name not in BUSY and dur),
        key=lambda each: (-each[1], each[0]),
    )
    return {**{row["category"]: row["dur_ns"] for row in work}, **dict(idle)}


def _options_for(name: str) -> tuple[str, ...]:
    """Return the options of `traceq whatif` that can change the category."""
    if name in NO_LENGTH:
        return ("--remove",)
    more = ("--overlap",) if name in TRANSFERS else ("--move",) if name in MOVABLE else ()
    return ("--remove", "--scale", *more)


def _file_name(connection: duckdb.DuckDBPyConnection, trace_id: int) -> str:
    """Return the name of the trace's file, without its folder."""
    traces = {row["trace_id"]: row["path"] for row in ask(connection, statement("database/trace.sql"))}
    return PurePath(traces[trace_id]).name


# --- traces without GPU work


def _host_answer(subject: Subject, facts: WhatIfAnswer) -> WhatIfAnswer | None:
    """Predict the steps of a trace without GPU work, where time saved on the training thread is saved in the step.

    None if the change affects neither this thread nor those it waits for.
    """
    if not subject.steps:
        return replace(facts, reason="the trace has no counted steps, so nothing can be predicted")
    if not subject.has("host_alone"):
        return replace(facts, reason=NEEDS["host_alone"].lacking)
    won = measure_host_changes(subject, [_host_change(change) for change in facts.asked])
    if any(not held + elsewhere for held, elsewhere in zip(won.held_ns, won.elsewhere_ns, strict=True)):
        return None
    reason = _host_doubt(facts.asked, won)
    if reason is not None and not any(won.held_ns):
        return replace(facts, reason=reason)
    step = facts.recorded_ns or 0.0
    low = min(won.low_ns, 0.0) if reason else won.low_ns
    return replace(
        facts,
        replayed_ns=step,
        after_ns=step - won.likely_ns,
        saved=Saved(low, None if reason else won.likely_ns, won.high_ns),
        reason=reason,
        limits=_scale_parts(won.left_ns, step - won.likely_ns),
    )


def _without_finding(facts: WhatIfAnswer, finding: Finding) -> WhatIfAnswer:
    """Predict the steps of a trace without GPU work if the finding's saving were taken from the categories that it owns."""
    step = facts.recorded_ns or 0.0
    owned = sum(finding.owned_by_category.values())
    left = {
        part.name: part.dur_ns - finding.saving_ns * finding.owned_by_category.get(part.name, 0.0) / owned
        for part in facts.ledger
    }
    return replace(
        facts,
        replayed_ns=step,
        after_ns=step - finding.saving_ns,
        saved=Saved(finding.saving_low_ns, finding.saving_ns, finding.saving_high_ns),
        limits=_scale_parts(left, step - finding.saving_ns),
    )


def _host_choices(ledger: Mapping[str, float]) -> list[WhatIfChoice]:
    """Return the categories of the training thread's ledger that can be changed, longest first."""
    found = sorted(((name, dur) for name, dur in ledger.items() if name in HOST and dur), key=lambda part: -part[1])
    move = dict.fromkeys(HOST_MOVABLE, ("--move",))
    return [
        WhatIfChoice(("--remove", "--scale", *move.get(name, ())), name, HOST_LABELS[name], dur) for name, dur in found
    ]


def _host_change(asked: Asked) -> HostChange:
    """Return the requested change as a change of host work, for traces without GPU work."""
    prefix, _, pattern = asked.what.partition(":")
    categories = () if pattern else HOST_OF.get(asked.what, (asked.what,))
    # there is no work of a GPU to be changed
    glob = pattern if prefix == "host" and pattern else None
    if asked.kind == "move":
        return HostChange(glob, categories, workers=asked.factor)
    return HostChange(glob, categories, left=asked.factor or 0.0)


def _host_doubt(asked: Sequence[Asked], won: HostWon) -> str | None:
    """Return why a likely saving cannot be told for a change of host work; None if it can."""
    for change, held, elsewhere in zip(asked, won.held_ns, won.elsewhere_ns, strict=True):
        if held < _LEAST_SEEN * elsewhere:
            return (
                f"most of {change.what} runs on other threads while the training thread works, so its cost is not known"
            )
    return None


def _scale_parts(left: Mapping[str, float], after: float) -> tuple[TimePart, ...]:
    """Return the parts of the step, longest first, scaled so that they add up to `after`, ns.

    Parts without time are left out.
    """
    whole = sum(left.values())
    parts = [(name, dur * after / whole) for name, dur in left.items() if dur > 0 and whole]
    return tuple(TimePart(name, dur) for name, dur in sorted(parts, key=lambda part: -part[1]))
