"""Assumptions on how much runs of one program differ, for sides with too few runs to show it.

The shares were measured on the traces at hand (decision 0023): the same kernels on several GPUs of one job differ by 0.2 to
1.1 %, host-paced loops of separate processes by 2.6 to 4.2 %, data loading of two runs by 20 %. Single steps scatter more than
the means of runs: decision 0032.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping

import msgspec

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
_CAUSES = ["data", "communication", "os", "checkpoint", "allocation", "compile", "profiler", "unattributed", "none"]
_OUTSIDE = ("communication", "unattributed", *(f"{kind}_{cause}" for kind in ("idle", "host") for cause in _CAUSES))


class KnownNoise(msgspec.Struct, frozen=True):
    """The standard deviation of the step between runs of one program, as a share of the step, and its source.

    It is as certain as a variance with `freedom` degrees of freedom. A `share` of None means that the deviation is
    assumed from the step's ledger categories.
    """

    share: float | None
    freedom: int = _FREEDOM_SAID
    source: str = "--noise"


def assume_noise(base_runs: int, new_runs: int) -> KnownNoise | None:
    """Return the noise to assume for these numbers of runs; None if they are enough to measure it (as 3 runs a side)."""
    freedom = base_runs + new_runs - 2
    if freedom >= _ENOUGH_FREEDOM:
        return None
    return KnownNoise(None, _FREEDOM_BESIDE if freedom else _FREEDOM_ALONE, "assumed")


def usual_deviation(noise: KnownNoise, step_ns: float, parts: Mapping[str, float]) -> float:
    """Return the standard deviation between runs, ns, of a step of `step_ns`, whose time by category is `parts`.

    If the noise is assumed, parts with the same assumed share vary together, others independently.
    """
    if noise.share is not None:
        return noise.share * step_ns
    return math.hypot(*_deviate(parts, _share_of_run))


def window_deviation(parts: Mapping[str, float], once_ns: float) -> float:
    """Return the assumed standard deviation, ns, of a single window or step: `parts` is its time by category, ns.

    `once_ns` is its time in one-off work (loading and compiling code, first calls).
    """
    return math.hypot(OF_OUTSIDE_ONCE * once_ns, *_deviate(parts, _share_of_window))


def describe_noise(noise: KnownNoise, share: float, runs: tuple[int, int]) -> str:
    """Return a sentence on the noise: runs are taken to differ by `share` of the step; `runs` is the number on each side."""
    if noise.share is not None:
        return f"runs of one program are expected to differ by {per_cent(share)} of the step (standard deviation, {noise.source})"
    given = "one run per side" if runs == (1, 1) else f"{runs[0]} against {some(runs[1], 'run')}"
    return (
        f"{given}: the interval includes an assumed run-to-run noise, {per_cent(share)} of the step (standard "
        f"deviation; {per_cent(OF_GPU_WORK)} of GPU work, {per_cent(OF_HOST_TIME)} of time that the host paces, "
        f"{per_cent(OF_DATA_LOADING)} of data loading); give {ENOUGH_RUNS} or more runs per side, or --noise, to avoid the "
        "assumption"
    )


def _deviate(parts: Mapping[str, float], share_of: Callable[[str], float]) -> Iterator[float]:
    """Yield a standard deviation, ns, for each group of categories that `share_of` gives the same share: share times time."""
    kinds: dict[float, float] = {}
    for name, ns in parts.items():
        kinds[share_of(name)] = kinds.get(share_of(name), 0.0) + ns
    yield from (share * ns for share, ns in kinds.items())


def _share_of_run(name: str) -> float:
    """Return the assumed deviation between runs of several steps as a share of the time in the ledger category `name`."""
    return OF_GPU_WORK if name in _ON_GPU else OF_DATA_LOADING if name in _LOADING else OF_HOST_TIME


def _share_of_window(name: str) -> float:
    """Return the assumed deviation between single windows as a share of the time in the ledger category `name`."""
    return OF_GPU_WORK_ONCE if name in _ON_GPU else OF_OUTSIDE_ONCE if name in _OUTSIDE else OF_HOST_TIME_ONCE
