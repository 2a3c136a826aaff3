"""Assumptions on how much runs of one program differ, for sides with too few runs to show it.

The shares were measured on the traces at hand (decision 0023): the same kernels on several GPUs of one job differ by 0.2 to
1.1 %, host-paced loops of separate processes by 2.6 to 4.2 %, data loading of two runs by 20 %. Single steps scatter more than
the means of runs: decision 0032.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from traceq.common.units import share as per_cent
from traceq.common.units import some

OF_GPU_WORK = 0.005
OF_HOST_TIME = 0.03
OF_DATA_LOADING = 0.2

# Of a single step or window: of GPU work, of time that the host paces, and of what hangs on something else.
OF_GPU_WORK_ONCE = 0.05
OF_HOST_TIME_ONCE = 0.1
OF_OUTSIDE_ONCE = 0.5

ENOUGH_RUNS = 3
"""With so many runs a side, what they differ by is measured and not assumed."""
_ENOUGH_FREEDOM = 2 * (ENOUGH_RUNS - 1)

# What is known is as sure as a variance of so many runs and one more. An assumption counts little beside runs: those of a program
# that is four times as noisy must be heard.
_FREEDOM_SAID, _FREEDOM_ALONE, _FREEDOM_BESIDE = 8, 30, 2

_ON_GPU = ("compute", "memset")
_LOADING = ("idle_data", "host_data")
# The next batch, other ranks, other programs; what happens once; and what nothing is known of.
_OUTSIDE = (
    "communication",
    *(
        f"{kind}_{cause}"
        for kind in ("idle", "host")
        for cause in (
            "data",
            "communication",
            "os",
            "checkpoint",
            "allocation",
            "compile",
            "profiler",
            "unattributed",
            "none",
        )
    ),
    "unattributed",
)


@dataclass(frozen=True)
class KnownNoise:
    """The standard deviation of the steps of runs of one program, as a share of the step, and where that is from.

    It is as sure as a variance of `freedom` runs and one more. A `share` of None: it is assumed, by what the step is made of.
    """

    share: float | None
    freedom: int = _FREEDOM_SAID
    source: str = "--noise"


def assume_noise(base_runs: int, new_runs: int) -> KnownNoise | None:
    """Return the noise to assume for this number of runs a side; None if they show it themselves."""
    freedom = base_runs + new_runs - 2
    if freedom >= _ENOUGH_FREEDOM:
        return None
    return KnownNoise(None, _FREEDOM_BESIDE if freedom else _FREEDOM_ALONE, "assumed")


def usual_deviation(noise: KnownNoise, step_ns: float, parts: Mapping[str, float]) -> float:
    """Return the standard deviation, ns, of a run whose step takes `step_ns`, `parts` of it by category.

    Of what is assumed, parts of one kind vary together, those of different kinds on their own.
    """
    if noise.share is not None:
        return noise.share * step_ns
    return math.hypot(
        *(share * sum(parts.get(name, 0.0) for name in names) for share, names in _group_runs(list(parts)))
    )


def window_deviation(parts: Mapping[str, float], once_ns: float) -> float:
    """Return the standard deviation, ns, of a window or step of `parts` by category, and of `once_ns` of one-off work."""
    once = OF_OUTSIDE_ONCE * once_ns
    return math.hypot(
        once, *(share * sum(parts.get(name, 0.0) for name in names) for share, names in _group_windows(parts))
    )


def describe_noise(noise: KnownNoise, share: float, runs: tuple[int, int]) -> str:
    """Return the assumption in words: `share` of the step is what a run differs by, `runs` are those of each side."""
    if noise.share is not None:
        return f"runs of one program are taken to differ by {per_cent(share)} of the step (standard deviation, {noise.source})"
    given = "one run a side" if runs == (1, 1) else f"{runs[0]} against {some(runs[1], 'run')}"
    return (
        f"{given}: what runs differ by is assumed, {per_cent(share)} of the step (standard "
        f"deviation; {per_cent(OF_GPU_WORK)} of GPU work, {per_cent(OF_HOST_TIME)} of time that the host paces, "
        f"{per_cent(OF_DATA_LOADING)} of data loading), and the interval holds it; need {ENOUGH_RUNS} or more runs a side, or "
        "--noise, to do without"
    )


def _group_runs(names: Sequence[str]) -> list[tuple[float, list[str]]]:
    """Return the categories that vary alike from run to run, each group with its share."""
    return _group_by_share(
        {
            name: OF_GPU_WORK if name in _ON_GPU else OF_DATA_LOADING if name in _LOADING else OF_HOST_TIME
            for name in names
        }
    )


def _group_windows(names: Iterable[str]) -> list[tuple[float, list[str]]]:
    """Return the categories of a single window or step that vary alike, each kind with its share."""
    return _group_by_share(
        {
            name: OF_GPU_WORK_ONCE if name in _ON_GPU else OF_OUTSIDE_ONCE if name in _OUTSIDE else OF_HOST_TIME_ONCE
            for name in names
        }
    )


def _group_by_share(shares: Mapping[str, float]) -> list[tuple[float, list[str]]]:
    kinds: dict[float, list[str]] = {}
    for name, share in shares.items():
        kinds.setdefault(share, []).append(name)
    return list(kinds.items())
