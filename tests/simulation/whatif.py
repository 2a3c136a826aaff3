"""What the replay of a simulated program's trace promises, beside what the program wins when the cause is really taken out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cache, partial
from itertools import combinations
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
    graphed,
    overlapped,
    scaled,
    simulate,
    steps,
    without_collectives,
    without_pauses_in_graphs,
    write_kineto,
    write_nsys,
)
from simulator.loop import Loop
from simulator.program import Process, Program
from tables import filled_as_by_ingest

from traceq import importers
from traceq.analysis import order

WRITERS = {"nsys": (write_nsys, "sqlite"), "kineto": (write_kineto, "json")}
# Of a step: savings are compared with at least so much.
LEAST = 0.01
# What a saving may be outside its bounds, ns: times are rounded.
ROUNDED = 1_000

# What the simulator knows nothing of.
_UNASKED = {"kernels", "shapes", "samples", "calls", "unified_memory"}
# How compute is scaled in the scenario `compute`.
_COMPUTE = 0.75

Change = Callable[[Program], Program]


class Counterfactual(NamedTuple):
    """What is really done for a scenario: time with these causes taken out, and the program changed."""

    without: tuple[str, ...] = ()
    change: Change | None = None


COUNTERFACTUALS = {
    **{name: Counterfactual((name,)) for name in CAUSES},
    **{name: Counterfactual((name,)) for name in ("copy_h2d", "copy_d2h", "copy_other", "memset")},
    "communication": Counterfactual(change=without_collectives),
    "idle_launch_latency": Counterfactual(("idle_launch_latency",), without_pauses_in_graphs),
    "compute": Counterfactual(change=partial(scaled, factors={"compute": _COMPUTE})),
    "overlap_communication": Counterfactual(change=lambda program: overlapped(program, "communication")),
    "graphs": Counterfactual(change=graphed),
}


class Promise(NamedTuple):
    """A row of the table replay; ns."""

    scenario: str
    saved: int | None
    low: float | None
    high: float | None
    error: float | None


class Case(NamedTuple):
    """A promise and the truth; ns over all steps. Shares of it are of what was really won, or of 1 % of the steps."""

    scene: str
    trace_format: str
    scenario: str
    saved: int
    low: float
    high: float
    won: int
    whole: int

    @property
    def error(self) -> float:
        """How far the promise is from the truth, as a share."""
        return abs(self.saved - self.won) / max(self.won, LEAST * self.whole)

    @property
    def is_inside(self) -> bool:
        """Whether the truth is between the bounds."""
        return self.low - ROUNDED <= self.won <= self.high + ROUNDED

    @property
    def matters(self) -> bool:
        """Whether promise or truth are 1 % of the steps at least."""
        return max(self.saved, self.won) >= LEAST * self.whole


class Seen(NamedTuple):
    """What traceq makes of a trace: the numbers of the steps that were replayed, and the promises."""

    replayed: list[int]
    promises: list[Promise]


def _triples() -> dict[str, Callable[[], Program]]:
    def inject(causes: tuple[str, ...]) -> Program:
        return Program((Process(Loop(inject={cause: CAUSES[cause] for cause in causes}).actions()),))

    return {"+".join(three): partial(inject, three) for three in combinations(CAUSES, 3)}


def _injected() -> dict[str, Callable[[], Program]]:
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
INJECTED = _injected()
TRIPLES = _triples()
ALL = {**ALONE, **PAIRS, **INJECTED, **TRIPLES}


@contextmanager
def _fewer_topics() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(order, "TOPICS", tuple(topic for topic in order.TOPICS if topic.needs not in _UNASKED))
        yield


def seen(path: Path) -> Seen:
    """The steps and promises of a trace, as an ingest would find them."""
    (importer,) = (one for one in importers.IMPORTERS if one.sniff(path))
    with _fewer_topics():
        connection = filled_as_by_ingest(importer.read(path), importer.NAME)
    (replayed,) = connection.execute("select list(step order by step) from step where excluded is null").fetchone()
    return Seen(replayed, _promises(connection))


def _promises(connection: duckdb.DuckDBPyConnection) -> list[Promise]:
    """Bounds are those of the table, or the shares of what may be removed."""
    columns = [name for name, *_ in connection.execute("describe replay").fetchall()]
    shares = "round(share_low * removable), round(share_high * removable)"
    bounds = "saved_low, saved_high" if "saved_low" in columns else shares
    query = f"select scenario, saved, {bounds}, error from replay order by scenario"
    return [Promise(*row) for row in connection.execute(query).fetchall()]


@cache
def step_times(scene: str, trace_format: str, scenario: str | None, rank: int) -> tuple[int, ...]:
    """How long each step of a scene takes, with a scenario really carried out, ns."""
    program = ALL[scene]() if trace_format == "nsys" else as_kineto_sees(ALL[scene]())
    counterfactual = COUNTERFACTUALS[scenario] if scenario else Counterfactual()
    changed = counterfactual.change(program) if counterfactual.change else program
    return tuple(one.dur for one in steps(simulate(changed, counterfactual.without).of(rank)))


def cases(scene: str, trace_format: str, folder: Path, rank: int = 0) -> list[Case]:
    """Each promise of the scene's trace that says a number and whose scenario can really be carried out."""
    write, suffix = WRITERS[trace_format]
    path = folder / f"{scene}.{rank}.{suffix}".replace("/", "-")
    write(simulate(ALL[scene]()), path, rank)
    replayed, promises = seen(path)
    path.unlink()
    first, last = replayed[0], replayed[-1] + 1

    def whole(scenario: str | None) -> int:
        return sum(step_times(scene, trace_format, scenario, rank)[first:last])

    return [
        Case(
            scene,
            trace_format,
            one.scenario,
            one.saved,
            one.low,
            one.high,
            whole(None) - whole(one.scenario),
            whole(None),
        )
        for one in promises
        if one.saved is not None and one.scenario in COUNTERFACTUALS
    ]


class Sum(NamedTuple):
    """Of several cases: how many, the errors in the middle and at the 95th percentile, the share inside bounds."""

    count: int
    median: float
    most: float
    inside: float

    def __str__(self) -> str:
        return f"{self.count:6} {100 * self.median:8.2f} % {100 * self.most:9.1f} % {100 * self.inside:7.1f} %"


def summed(found: Iterable[Case]) -> Sum:
    """Of the cases together."""
    several = list(found)
    errors = sorted(one.error for one in several)
    return Sum(
        len(several),
        median(errors),
        errors[min(int(0.95 * len(errors)), len(errors) - 1)],
        sum(one.is_inside for one in several) / len(several),
    )
