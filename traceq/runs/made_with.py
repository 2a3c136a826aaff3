"""Differences in what runs were made with: knobs, consequences of another knob, and facts that nobody set for the run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from traceq.formats.made_with import is_knob, is_variable, unit_of, words_of
from traceq.runs.run import Run

UNSET = "unset"

# A name -> names whose change brings a change of it along, whether or not anybody asked for that. torchrun sets variables
# of the processes that it starts; PyTorch takes its threads from one of them, else from the CPUs there are.
_FOLLOWS = {
    "tf32_matmul": ("float32_matmul_precision",),
    "OMP_NUM_THREADS": ("world_size", "data_parallel"),
    "TORCH_NCCL_ASYNC_ERROR_HANDLING": ("world_size", "data_parallel"),
    "intra_op_threads": ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "affinity", "cpus"),
    "inter_op_threads": ("affinity", "cpus"),
    "affinity": ("cpus",),
    "data_parallel": ("world_size",),
    "backend": ("world_size",),
}


class Difference(msgspec.Struct, frozen=True):
    """A fact (version, setting, environment variable, ...) that the sides state differently.

    `values` holds the distinct values of each side's runs. `follows` names the changed fact that causes this one; None
    where no cause is known.
    """

    name: str
    values: tuple[tuple[str, ...], ...]
    is_knob: bool
    follows: str | None = None

    @property
    def words(self) -> str:
        """The name of the fact in words, for a sentence."""
        return words_of(self.name)

    @property
    def unit(self) -> str | None:
        """The unit of the fact's numbers; None without one."""
        return unit_of(self.name)


def find_differences(sides: Sequence[Sequence[Run]]) -> tuple[Difference, ...]:
    """Return the facts (versions, settings, variables) that the sides state differently: turned knobs, other knobs, the rest.

    Empty if any run lacks such facts (made_with), or a side has no runs.
    """
    if not sides or any(not run.made_with for side in sides for run in side) or not all(sides):
        return ()
    found = {
        name: values
        for name in _list_names(sides)
        if len(set(values := _values_of_sides(sides, name))) > 1 and all(values)
    }
    differ = [Difference(name, values, is_knob(name), _find_cause(name, found)) for name, values in found.items()]
    return tuple(sorted(differ, key=lambda each: (not is_turned(each), not each.is_knob)))


def is_turned(difference: Difference) -> bool:
    """Return whether the difference is a knob that somebody turned, not a fact or a consequence of another knob."""
    return difference.is_knob and difference.follows is None


def _list_names(sides: Sequence[Sequence[Run]]) -> Iterator[str]:
    """Yield the name of every fact that a run of either side states, each once."""
    yield from dict.fromkeys(name for side in sides for run in side for name in run.made_with)


def _values_of_sides(sides: Sequence[Sequence[Run]], name: str) -> tuple[tuple[str, ...], ...]:
    """Return the distinct values of the fact on each side.

    A missing environment variable counts as UNSET; other missing facts are left out as unknown.
    """
    missing = UNSET if is_variable(name) else None
    values = ((run.made_with.get(name, missing) for run in side) for side in sides)
    return tuple(tuple(sorted({each for each in of_side if each is not None})) for of_side in values)


def _find_cause(name: str, found: dict[str, tuple[tuple[str, ...], ...]]) -> str | None:
    """Return the first changed fact (a key of `found`) that brings a change of `name` along, by _FOLLOWS.

    None if there is none.
    """
    return next((each for each in _FOLLOWS.get(name, ()) if each in found), None)
