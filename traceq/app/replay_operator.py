"""Replay of operators: a script that runs the slow operators of a trace again, without the model."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from traceq.app.read_options import AS_FOUND, LOWEST, ReadOptions, Which
from traceq.app.source import Source, open_source
from traceq.app.trace_selection import select_traces
from traceq.common.ranks import select_rank
from traceq.database.user_sql import run_interruptibly
from traceq.diagnosis.cache import load_judgements
from traceq.diagnosis.choose import Chosen, choose
from traceq.errors import StoreError, WrongUse
from traceq.exports.replay.arguments import WITH_SHAPES
from traceq.exports.replay.collectives import (
    CollectiveCalls,
    check_replayable,
    name_kind,
    read_collectives,
    write_collectives,
)
from traceq.exports.replay.plan import RecordedOperator, plan_replay
from traceq.exports.replay.recorded import read_operators
from traceq.exports.replay.script import write_script

if TYPE_CHECKING:
    import duckdb

_MOST_NAMED = 5

R = TypeVar("R", RecordedOperator, CollectiveCalls)
P = TypeVar("P")


class ReplayChoice(NamedTuple):
    """The choice of operators to run again: by name, by a kernel of theirs, or those of a finding; and how many at most."""

    operator: str | None = None
    kernel: str | None = None
    finding: str | None = None
    batch: int = 1


class PassedOver(NamedTuple):
    """An operator that took long enough, but cannot be run again, and why."""

    name: str
    total_dur: int
    reason: str


class OperatorReplay(NamedTuple):
    """A script that runs operators of a trace, what it runs, and what of the trace it should have run, too."""

    script: str
    replayed: tuple[RecordedOperator | CollectiveCalls, ...]
    passed_over: tuple[PassedOver, ...]


def replay_operators(
    source: Source, choice: ReplayChoice, which: Which = LOWEST, read: ReadOptions = AS_FOUND
) -> OperatorReplay:
    """Return a script that runs the chosen operators of a trace again; without a choice the one that could win most time.

    Raises WrongUse for choices that exclude each other, StoreError where nothing can be run again, saying what the trace
    lacks and how to record it.
    """
    if sum(named is not None for named in (choice.operator, choice.kernel, choice.finding)) > 1:
        raise WrongUse("--op, --kernel and --finding each say which operator: give only one.")
    with open_source(source, "replayed", read) as connection:
        return run_interruptibly(connection, lambda: _replay_chosen(connection, str(source), choice, which))


def _replay_chosen(
    connection: duckdb.DuckDBPyConnection, source: str, choice: ReplayChoice, which: Which
) -> OperatorReplay:
    """Return the script for the chosen trace of an open database."""
    ranks = select_traces(connection, () if which.trace is None else (which.trace,))
    trace_id, *_ = select_rank(ranks, which.rank, source)
    chosen = None
    if choice.finding is not None:
        chosen = _choose_finding(connection, choice.finding, None if not which.is_named else [trace_id])
        trace_id = chosen.finding.where.trace_id
    slices = () if chosen is None else _list_slices(chosen)
    if collectives := _filter_collectives(read_collectives(connection, trace_id, slices), choice):
        sendable, refused = _sort_out(collectives, check_replayable, choice.batch)
        if not sendable:
            raise StoreError(f"{source}: {_explain_nothing(refused)}")
        chosen_ones = [collective for collective, _ in sendable]
        return OperatorReplay(write_collectives(chosen_ones), tuple(chosen_ones), tuple(refused))
    operators = _filter_operators(read_operators(connection, trace_id, slices), choice, chosen)
    planned, passed_over = _sort_out(operators, plan_replay, choice.batch)
    if not planned:
        raise StoreError(f"{source}: {_explain_nothing(passed_over)}")
    script = write_script([plan for _, plan in planned])
    return OperatorReplay(script, tuple(operator for operator, _ in planned), tuple(passed_over))


def _choose_finding(connection: duckdb.DuckDBPyConnection, text: str, traces: Sequence[int] | None) -> Chosen:
    """Return the finding that the text names."""
    judged = load_judgements(connection, traces=traces)
    return choose(text, {subject.trace_id: judge().every_finding for subject, judge in judged})


def _list_slices(chosen: Chosen) -> list[int]:
    """Return the slices of a finding's worst pieces, and of the findings merged into it, in their order."""
    evidence = (chosen.finding.instances, *(part.evidence for part in chosen.finding.parts))
    found = []
    for piece in evidence:
        if "slice_id" in piece.columns:
            place = piece.columns.index("slice_id")
            found += [row[place] for row in piece.rows]
    return [slice_id for slice_id in found if isinstance(slice_id, int)]


def _filter_operators(
    operators: Sequence[RecordedOperator], choice: ReplayChoice, chosen: Chosen | None
) -> list[RecordedOperator]:
    """Return the operators that are meant. Raises StoreError, which names others, where there are none."""
    if not operators:
        raise StoreError(f"the trace has no operators with time of their own; {WITH_SHAPES}")
    if chosen is not None:
        found = [operator for operator in operators if operator.is_wanted]
        problem = f"{chosen.place} ({chosen.finding.rule}) is about no operator"
    elif choice.kernel is not None:
        wanted = choice.kernel.casefold()
        found = [operator for operator in operators if any(wanted in kernel.casefold() for kernel in operator.kernels)]
        problem = f"no operator launched a kernel whose name has {choice.kernel!r}"
    elif choice.operator is not None:
        name = choice.operator if "::" in choice.operator else f"aten::{choice.operator}"
        found = [operator for operator in operators if operator.name == name]
        problem = f"no operator called {name} has time of its own"
    else:
        return list(operators)
    if not found:
        raise StoreError(f"{problem}; {_name_others(operators, choice.operator)}")
    return found


def _name_others(operators: Sequence[RecordedOperator], wanted: str | None) -> str:
    """Return which operators there are: the closest names, else those with the most time to win."""
    names = list(dict.fromkeys(operator.name for operator in operators if operator.name.startswith("aten::")))
    close = (
        []
        if wanted is None
        else difflib.get_close_matches(f"aten::{wanted.removeprefix('aten::')}", names, n=_MOST_NAMED, cutoff=0.8)
    )
    return f"there are {', '.join(close or names[:_MOST_NAMED])}" if names else "there are none of PyTorch itself"


def _filter_collectives(collectives: Sequence[CollectiveCalls], choice: ReplayChoice) -> list[CollectiveCalls]:
    """Return the collectives that are meant: those of the finding, or of the kind that is named."""
    if choice.finding is not None:
        return [collective for collective in collectives if collective.is_wanted]
    kind = None if choice.operator is None else name_kind(choice.operator)
    return [collective for collective in collectives if kind is not None and name_kind(collective.name) == kind]


def _sort_out(recorded: Sequence[R], plan: Callable[[R], P], most: int) -> tuple[list[tuple[R, P]], list[PassedOver]]:
    """Return the first `most` that can be run again, each with its plan, and those before them that cannot."""
    planned: list[tuple[R, P]] = []
    passed_over: list[PassedOver] = []
    for one in recorded:
        if len(planned) == most:
            break
        try:
            planned.append((one, plan(one)))
        except ValueError as error:
            passed_over.append(PassedOver(one.name, one.total_dur, str(error)))
    return planned, passed_over


def _explain_nothing(passed_over: Sequence[PassedOver]) -> str:
    """Return why nothing can be run again: the reason of the operator with the most time to win."""
    first = passed_over[0]
    others = {passed.reason for passed in passed_over} - {first.reason}
    more = f" ({len(others)} other reasons for other operators)" if others else ""
    return f"{first.name} cannot be run again: {first.reason}{more}"
