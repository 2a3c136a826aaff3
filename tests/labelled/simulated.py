"""Simulated loops: each cause alone in several sizes, all pairs, healthy loops; both formats of each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import combinations
from pathlib import Path

from simulator import CAUSES, SCENES, Process, Program, simulate, steps, write_kineto, write_nsys
from simulator.loop import Loop

from labelled.case import Case

FORMATS = {"nsys": (".sqlite", write_nsys), "kineto": (".json", write_kineto)}

NAMED_BY = {
    "idle_data": {"synchronous-loader"},
    "idle_sync": {"item-read"},
    "idle_allocation": {"allocator-in-step"},
    "idle_compile": {"recompilation"},
    "idle_launch": {"host-bound"},
    "idle_python": {"python-bound"},
    "idle_os": {"blocking-os-call"},
    "idle_checkpoint": {"checkpoint-blocking"},
    "idle_communication": {"host-collective"},
    "idle_dependency": {"stream-dependency"},
    # No GPU takes 100 us and more to start what nothing holds up: that the capture does not tell is right as well.
    "idle_launch_latency": {"launch-latency", "idle-unattributed"},
    "idle_profiler": {"profiler-overhead"},
    "idle_unattributed": {"idle-unattributed"},
}
# Kineto does not see calls of the operating system: their time is what is around them.
UNTRACED = {("kineto", "idle_os"): "idle_python"}

# What a cause costs a step here, next to what it does in the scenes of its name.
SIZES = (1.0, 0.6, 2.0)

OTHERS = {
    "launch_bound": {"tiny-kernels", "host-bound"},
    "autograd_thread": {"tiny-kernels", "host-bound"},
    "slow_loader": {"too-few-workers"},
    "pageable_copy": {"pageable-copy", "late-input-copy"},
    "frozen_host": {"host-preempted"},
    "long_collective": {"gradient-overlap", "exposed-communication"},
}
HEALTHY = ("healthy", "hidden_loader", "prefetched_copy", "full_queue")


@dataclass(frozen=True)
class _Loss:
    """What a program's steps lose to the causes of a category, measured by taking them out."""

    program: Program
    format: str

    def __call__(self, category: str) -> float:
        """Nanoseconds per step."""
        unseen = [
            cause for (format_, cause), seen_as in UNTRACED.items() if (format_, seen_as) == (self.format, category)
        ]
        before = steps(simulate(self.program).of(0))
        after = steps(simulate(self.program, without=[category, *unseen]).of(0))
        return (sum(one.dur for one in before) - sum(one.dur for one in after)) / len(before)


@dataclass(frozen=True)
class _Make:
    """Writes the trace of a program."""

    name: str
    format: str
    program: Program

    def __call__(self, folder: Path) -> Path:
        """The file in `folder`."""
        suffix, write = FORMATS[self.format]
        path = folder / f"{self.name}{suffix}"
        write(simulate(self.program), path)
        return path


def _injected(size: float, seed: int, *causes: str) -> Program:
    loss = {cause: int(CAUSES[cause] * size) for cause in causes}
    return Program((Process(Loop(inject=loss, seed=seed).actions()),))


def _names(format_: str, cause: str) -> frozenset[str]:
    return frozenset(NAMED_BY[UNTRACED.get((format_, cause), cause)])


@cache
def cases() -> tuple[Case, ...]:
    """All of them."""
    return tuple(case for format_ in FORMATS for kind in (_singles, _pairs, _clean) for case in kind(format_))


def _singles(format_: str) -> Iterator[Case]:
    for seed, size in enumerate(SIZES, 1):
        for cause in CAUSES:
            program = _injected(size, seed, cause)
            make = _Make(f"{cause}_{seed}", format_, program)
            yield Case(
                f"{cause} x{size} {format_}", "single", make, (_names(format_, cause),), won=_Loss(program, format_)
            )
    for name, rules in OTHERS.items():
        program = SCENES[name]()
        make = _Make(name, format_, program)
        yield Case(f"{name} {format_}", "single", make, (frozenset(rules),), won=_Loss(program, format_))


def _pairs(format_: str) -> Iterator[Case]:
    for one, other in combinations(CAUSES, 2):
        program = _injected(1.0, 1, one, other)
        expected = (_names(format_, one), _names(format_, other))
        expected = expected if expected[0] != expected[1] else expected[:1]
        make = _Make(f"{one}+{other}", format_, program)
        yield Case(f"{one} + {other} {format_}", "pair", make, expected, first=3, won=_Loss(program, format_))


def _clean(format_: str) -> Iterator[Case]:
    for name in HEALTHY:
        program = SCENES[name]()
        yield Case(f"{name} {format_}", "clean", _Make(name, format_, program), won=_Loss(program, format_))
