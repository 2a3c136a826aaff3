"""Real traces of ../shared/traces: what an engineer who looked at them would say first, and what would be wrong to say."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from labelled.case import Case

TRACES = Path(__file__).resolve().parents[2].parent / "shared" / "traces"

_STEPS = 6  # of the resnet50 traces
_WON_BY_WORKERS = {"v19": 211e6 / _STEPS, "array": 197e6 / _STEPS}  # w4 beside w0, ns per step


@dataclass(frozen=True)
class _There:
    """A trace that lies there."""

    path: str

    def __call__(self, _folder: Path) -> Path:
        """The file."""
        return TRACES / self.path


@dataclass(frozen=True)
class _Won:
    """What a real fix won, whatever the category."""

    ns: float

    def __call__(self, _category: str) -> float:
        """Nanoseconds per step."""
        return self.ns


def _case(
    path: str, *expected: set[str], first: int = 1, forbidden: frozenset[str] = frozenset(), won: float | None = None
) -> Case:
    labels = tuple(frozenset(each) for each in expected)
    return Case(Path(path).name, "real", _There(path), labels, first, forbidden, None if won is None else _Won(won))


def cases() -> Iterator[Case]:
    """Those of which it is known."""
    if not TRACES.is_dir():
        return
    for era, won in _WON_BY_WORKERS.items():
        yield _case(f"torch/kineto_resnet50_w0.{era}.pt.trace.json.gz", {"synchronous-loader"}, won=won)
        workers_are_there = frozenset({"synchronous-loader", "too-few-workers", "idle-data"})
        yield _case(
            f"torch/kineto_resnet50_w4.{era}.pt.trace.json.gz",
            {"host-bound", "tiny-kernels", "python-bound"},
            forbidden=workers_are_there,
        )
    copies = {"exposed-copy-h2d", "pageable-copy", "blocking-copy", "same-stream-copy"}
    yield _case("nsys/testcuda_4streams_report1.sqlite", copies)
    yield _case("nsys/cestwc_report11.sqlite", {"tiny-kernels"})
    for rank in range(4):
        # The training thread is frozen 18 to 36 times a step: the host alone makes the step, whatever waits on the GPU.
        host = {"host-bound", "python-bound", "slow-launch-call"}
        yield _case(f"torch/megatron_tp8_rank{rank}.json.gz", host | {"tensor-parallel-collective"})
    yield _case("torch/tracelens_h100_owlv2.json.gz", {"synchronous-loader", "idle-data"})
    yield _case("nsys/fuser_h200_report1.sqlite", {"recompilation", "idle-compile"}, first=2)
