"""Answers what the counted steps of a trace would last after changes: before, after, how sure that is, and what limits then."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from traceq.analysis.categories import CATEGORIES
from traceq.analysis.replay.counterfactual import Change, Scenario, changed
from traceq.analysis.replay.critical_path import critical_path
from traceq.analysis.replay.replayed import read_world
from traceq.analysis.replay.savings import Replayed, Saving, marks_of, saving, told_by
from traceq.analysis.replay.scope import scope
from traceq.database.sql import run

if TYPE_CHECKING:
    from collections.abc import Sequence

    import duckdb


class NothingToReplay(ValueError):
    """The trace has no counted steps."""


class Limit(NamedTuple):
    """What still limits the steps after the changes: what they would win without it, ns a step."""

    category: str
    saved_ns: float


class Answer(NamedTuple):
    """Times in ns per step, over `steps` steps.

    `recorded_ns` is a step as recorded, `before_ns` as replayed, `after_ns` as replayed with the changes; the three of `saved`
    are before less after, with its bounds (likely is None where the replay gives bounds only). `found` says of each
    change whether it changed anything that the model knows of.
    """

    steps: int
    recorded_ns: float
    before_ns: float
    after_ns: float
    saved: Saving
    told: Replayed
    found: tuple[bool, ...]
    limits: tuple[Limit, ...]


def what_if(connection: duckdb.DuckDBPyConnection, trace_id: int, changes: Sequence[Change]) -> Answer:
    """Replay the counted steps of a trace with all of `changes`, one after another.

    Raises NothingToReplay without counted steps, ValueError for what cannot be asked. The connection gets temp views that hide
    the other traces of the database: open one for it.
    """
    scope(connection, trace_id)
    world = read_world(connection)
    if world is None:
        raise NothingToReplay("the trace has no steps that count: nothing can be replayed")
    after = world.baseline()
    found = []
    for change in changes:
        before, after = after, changed(world, after, change)
        found.append(_differs(before, after))
    held = [row[0] for row in run(connection, "analysis/replay/replay_held.sql").fetchall()]
    rest = [name for name in CATEGORIES if name in held and name != "idle_earlier_work"]
    more = [changed(world, after, Change("remove", name)) for name in rest]
    marks = marks_of([world.baseline(), after, *more])
    spans = (marks[:, -1] - marks[:, 0]).tolist()
    told = told_by(world, marks[0], critical_path(world.recorded, world.graph))
    count = len(world.recorded.steps)
    saved = saving(max(spans[0] - spans[1], 0.0), told)
    limits = sorted(
        (Limit(name, (spans[1] - span) / count) for name, span in zip(rest, spans[2:], strict=True)),
        key=lambda limit: -limit.saved_ns,
    )
    return Answer(
        steps=count,
        recorded_ns=told.span / count,
        before_ns=spans[0] / count,
        after_ns=spans[1] / count,
        saved=Saving(None if saved.likely is None else saved.likely / count, saved.low / count, saved.high / count),
        told=told,
        found=tuple(found),
        limits=tuple(each for each in limits if each.saved_ns > 0),
    )


def _differs(before: Scenario, after: Scenario) -> bool:
    """Whether a change had anything to change."""
    if before.graph is not after.graph or before.least != after.least:
        return True
    pairs = zip(vars(before.weights).values(), vars(after.weights).values(), strict=True)
    return any(one is not other and bool((one != other).any()) for one, other in pairs)
