"""What the replay of a simulated program's trace promises, beside what the program wins when the cause is really taken out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cache, partial, reduce
from itertools import combinations
from math import nan
from pathlib import Path
from statistics import median
from typing import NamedTuple

import duckdb
import pytest
from simulator import (
    CAUSES,
    PAIRS,
    SCENES,
    as_kineto_sees,
    fetched_in_workers,
    graphed,
    never_waiting,
    overlapped,
    quicker_host,
    scaled,
    simulate,
    steps,
    without_collectives,
    write_kineto,
    write_nsys,
)
from simulator.loop import Loop
from simulator.program import Process, Program
from tables import filled_as_by_ingest

from traceq import importers
from traceq.analysis import order
from traceq.analysis.categories import CATEGORIES
from traceq.analysis.replay.counterfactual import ReplayChange, apply_change
from traceq.analysis.replay.critical_path import find_critical_path
from traceq.analysis.replay.replayed import read_world
from traceq.analysis.replay.savings import estimate_saving, marks_of, measure_accuracy, sum_unexplained

WRITERS = {"nsys": (write_nsys, "sqlite"), "kineto": (write_kineto, "json")}
# Of a step: savings are compared with at least so much.
LEAST = 0.01
# What a saving may be outside its bounds, ns: times are rounded.
ROUNDED = 1_000

# What the simulator knows nothing of.
_UNASKED = {"kernels", "shapes", "samples", "calls", "unified_memory"}
# What the table calls a quarter of a change: of work on devices it is one that can really be done.
_QUARTER = 0.75
_WORK = ("compute", "copy_h2d", "copy_d2h", "copy_other", "memset")
_WORKERS = 4
# What workers cost the training thread is an assumption, which only the bounds have to hold: here they cost nothing.
_ASSUMED = ("data_in_workers",)

ProgramChange = Callable[[Program], Program]


class Counterfactual(NamedTuple):
    """What is really done for a scenario: time with these causes taken out, and the program changed."""

    without: tuple[str, ...] = ()
    change: ProgramChange | None = None


COUNTERFACTUALS = {
    **{name: Counterfactual((name,)) for name in CAUSES},
    **{name: Counterfactual(change=partial(scaled, factors={name: 0})) for name in _WORK},
    **{f"{name}/4": Counterfactual(change=partial(scaled, factors={name: _QUARTER})) for name in _WORK},
    "communication": Counterfactual(change=without_collectives),
    "communication_waiting": Counterfactual(change=never_waiting),
    "communication_overlap": Counterfactual(change=lambda program: overlapped(program, "communication")),
    "copies_overlap": Counterfactual(change=lambda program: overlapped(program, "copy_h2d", "copy_other")),
    "data_in_workers": Counterfactual(change=partial(fetched_in_workers, workers=_WORKERS)),
    "launch_graph": Counterfactual(change=graphed),
}


# What a user may ask beside the scenarios of the table, and what it is in the program.
QUESTIONS = {
    "kernel:*gemm* x 0.5": (
        ReplayChange("scale", "kernel:*gemm*", 0.5),
        partial(scaled, factors={"kernel:*gemm*": 0.5}),
    ),
    **{
        f"host:{glob} x {factor}": (
            ReplayChange("scale", f"host:{glob}", factor),
            partial(quicker_host, glob=glob, factor=factor),
        )
        for glob in ("aten::*", "autograd*", "forward")
        for factor in (0, 0.5)
    },
}
COUNTERFACTUALS |= {name: Counterfactual(change=change) for name, (_, change) in QUESTIONS.items()}


class Promise(NamedTuple):
    """A row of the table replay; ns."""

    scenario: str
    saved: int | None
    low: float
    high: float


class Case(NamedTuple):
    """A promise, of which the value may be missing, and the truth; ns over all steps."""

    scene: str
    trace_format: str
    scenario: str
    saved: int | None
    low: float
    high: float
    won: int
    whole: int

    @property
    def error(self) -> float | None:
        """How far the promised value is from the truth, as a share of it, or of 1 % of the steps where that is more."""
        return None if self.saved is None else abs(self.saved - self.won) / max(self.won, LEAST * self.whole)

    @property
    def is_inside(self) -> bool:
        """Whether the truth is between the bounds."""
        return self.low - ROUNDED <= self.won <= self.high + ROUNDED

    @property
    def matters(self) -> bool:
        """Whether promise or truth are 1 % of the steps at least."""
        return max(self.saved or 0, self.won) >= LEAST * self.whole


class Seen(NamedTuple):
    """What traceq makes of a trace: the numbers of the steps that were replayed, and the promises."""

    replayed: list[int]
    promises: list[Promise]


def _list_triples() -> dict[str, Callable[[], Program]]:
    def inject(causes: tuple[str, ...]) -> Program:
        return Program((Process(Loop(inject={cause: CAUSES[cause] for cause in causes}).actions()),))

    return {"+".join(three): partial(inject, three) for three in combinations(CAUSES, 3)}


def _list_injected() -> dict[str, Callable[[], Program]]:
    """Loops of other kinds, each with a cause injected: there the same time hides or is waited for elsewhere."""

    def inject(loop: Callable[..., Loop], cause: str) -> Program:
        return Program((Process(loop(inject={cause: CAUSES[cause]}).actions()),))

    loops = {
        "ahead": partial(Loop, kernel=150_000, reads_loss=False, lags=True, prologue=10, batch="prefetched", steps=5),
        "host_bound": partial(Loop, layers=12, kernel=1_500, steps=4),
        "late_copy": partial(Loop, batch="late", reads_loss=False, lags=True, kernel=9_000, steps=5),
        "pageable": partial(Loop, batch="pageable", steps=4),
        "autograd": partial(Loop, layers=8, kernel=20_000, has_autograd_thread=True, steps=4),
        "graph": partial(Loop, graph="opaque", reads_loss=False, lags=True, steps=4),
    }
    return {f"{name}/{cause}": partial(inject, loop, cause) for name, loop in loops.items() for cause in CAUSES}


# Steps without marks are other steps when the program is faster.
ALONE = {name: make for name, make in SCENES.items() if name not in PAIRS and name != "unmarked"}
INJECTED = _list_injected()
TRIPLES = _list_triples()
ALL = {**ALONE, **PAIRS, **INJECTED, **TRIPLES}


@contextmanager
def _fewer_topics() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(order, "TOPICS", tuple(topic for topic in order.TOPICS if topic.needs not in _UNASKED))
        yield


# Of a quarter there are no bounds but those of the whole.
_PROMISES = """
    select scenario, if(list_contains($assumed, scenario), null, saved), saved_low, saved_high
    from replay
    where saved_high is not null
    union all
    select scenario || '/4', if(saved is null, null, saved_quarter), saved_low / 4, saved_high
    from replay
    where list_contains($work, scenario)
    order by all
"""


def read_promises(path: Path) -> Seen:
    """Return the steps and promises of a trace, as an ingest would find them."""
    (importer,) = (one for one in importers.IMPORTERS if one.sniff(path))
    with _fewer_topics():
        connection = filled_as_by_ingest(importer.read(path), importer.NAME)
    (replayed,) = connection.execute("select list(step order by step) from step where excluded is null").fetchone()
    promises = _list_promises(connection)
    return Seen(replayed, [*promises, *_ask_promises(connection, promises)])


def _list_promises(connection: duckdb.DuckDBPyConnection) -> list[Promise]:
    """The rows of the table, and of work on devices what a quarter of it saves."""
    found = connection.execute(_PROMISES, {"assumed": _ASSUMED, "work": _WORK}).fetchall()
    return [Promise(*row) for row in found]


def _ask_promises(connection: duckdb.DuckDBPyConnection, promises: Iterable[Promise]) -> list[Promise]:
    """The savings of QUESTIONS, and of pairs and the triple of what saves most alone, taken away together."""
    alone = [one for one in promises if one.scenario in CATEGORIES and one.saved]
    most = [one.scenario for one in sorted(alone, key=lambda one: -one.saved)[:3]]
    together = {" & ".join(names): names for size in (2, 3) for names in combinations(most, size)}
    asked = {name: [ReplayChange("remove", one) for one in names] for name, names in together.items()}
    asked |= {name: [change] for name, (change, _) in QUESTIONS.items()}
    world = read_world(connection)
    base = world.baseline
    marks = marks_of([base, *(reduce(partial(apply_change, world), changes, base) for changes in asked.values())])
    told = measure_accuracy(world, marks[0], sum_unexplained(find_critical_path(world.recorded, world.graph)))
    spans = marks[:, -1] - marks[:, 0]
    savings = [estimate_saving(spans[0] - span, told) for span in spans[1:].tolist()]
    return [
        Promise(name, None if one.likely is None else round(one.likely), one.low, one.high)
        for name, one in zip(asked, savings, strict=True)
    ]


@cache
def step_times(scene: str, trace_format: str, scenario: str | None, rank: int) -> tuple[int, ...]:
    """How long each step of a scene takes, with scenarios (joined by &) really carried out, ns."""
    program = as_recorded = ALL[scene]() if trace_format == "nsys" else as_kineto_sees(ALL[scene]())
    without: list[str] = []
    for one in [COUNTERFACTUALS[name] for name in scenario.split(" & ")] if scenario else []:
        program = one.change(program) if one.change else program
        without += one.without
    if scenario and not without and program == as_recorded:
        return step_times(scene, trace_format, None, rank)
    return tuple(one.dur for one in steps(simulate(program, without).of(rank)))


def list_cases(scene: str, trace_format: str, folder: Path, rank: int = 0) -> list[Case]:
    """Each promise of the scene's trace that says a number and whose scenario can really be carried out."""
    write, suffix = WRITERS[trace_format]
    path = folder / f"{scene}.{rank}.{suffix}".replace("/", "-")
    write(simulate(ALL[scene]()), path, rank)
    replayed, promises = read_promises(path)
    path.unlink()
    first, last = replayed[0], replayed[-1] + 1

    def simulate_whole(scenario: str | None) -> int:
        return sum(step_times(scene, trace_format, scenario, rank)[first:last])

    found = [
        Case(
            scene,
            trace_format,
            one.scenario,
            one.saved,
            one.low,
            one.high,
            simulate_whole(None) - simulate_whole(one.scenario),
            simulate_whole(None),
        )
        for one in promises
        if all(name in COUNTERFACTUALS for name in one.scenario.split(" & "))
    ]
    # A question may be about nothing that the program does.
    return [one for one in found if one.scenario not in QUESTIONS or one.saved or one.won]


class Sum(NamedTuple):
    """Of several cases: how many, and with a value; its errors in the middle and at the 95th percentile; share inside bounds."""

    count: int
    valued: int
    median: float
    most: float
    inside: float

    def __str__(self) -> str:
        return f"{self.count:6} {self.valued:6} {100 * self.median:8.2f} % {100 * self.most:9.1f} % {100 * self.inside:7.1f} %"


def sum_cases(found: Iterable[Case]) -> Sum:
    """Return the sums of the cases together."""
    several = list(found)
    errors = sorted(one.error for one in several if one.error is not None)
    most = errors[min(int(0.95 * len(errors)), len(errors) - 1)] if errors else nan
    inside = sum(one.is_inside for one in several) / len(several)
    return Sum(len(several), len(errors), median(errors) if errors else nan, most, inside)
