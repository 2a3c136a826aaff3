"""Rows of the table layer while they are summed: layers, and what lies before, between and after them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


class LayerKey(NamedTuple):
    """The subject of a row: a layer of a list; or, with `list_number` -1, the part outside of lists that OUTSIDE[layer] names."""

    list_number: int
    layer: int


OUTSIDE = ("before the layers", "between the layers", "after the layers", "steps without layers")
BEFORE, BETWEEN, AFTER, OTHER_STEPS = (LayerKey(-1, number) for number in range(len(OUTSIDE)))


class LayerSum(NamedTuple):
    """Sums of the kernels of a row: times in ns. `first_kernel` and `last_kernel` are places in `step`, its first step."""

    kernels: int
    forward_dur: float
    backward_dur: float
    step: int
    first_kernel: int
    last_kernel: int

    def add_sums(self, other: LayerSum) -> LayerSum:
        """Return the sum with that of other kernels; places are those in the earlier of both steps."""
        first, later = (self, other) if self.step <= other.step else (other, self)
        is_same = first.step == later.step
        return LayerSum(
            self.kernels + other.kernels,
            self.forward_dur + other.forward_dur,
            self.backward_dur + other.backward_dur,
            first.step,
            min(first.first_kernel, later.first_kernel) if is_same else first.first_kernel,
            max(first.last_kernel, later.last_kernel) if is_same else first.last_kernel,
        )


class StepKernels(NamedTuple):
    """Compute kernels of a device in a step, in their order: an element each; `dur` in ns, `path` -1 for no module.

    `is_end`: the input or output of a model: an embedding, a loss, a sampler. `is_border`: a send or receive is launched between
    the kernel before and this one.
    """

    number: npt.NDArray[np.int64]
    dur: npt.NDArray[np.float64]
    is_heavy: npt.NDArray[np.bool_]
    is_attention: npt.NDArray[np.bool_]
    is_possible_product: npt.NDArray[np.bool_]
    is_backward: npt.NDArray[np.bool_]
    is_named_backward: npt.NDArray[np.bool_]
    path: npt.NDArray[np.int64]
    is_end: npt.NDArray[np.bool_]
    is_border: npt.NDArray[np.bool_]


class LayerList(NamedTuple):
    """A list of layers: the words of the column list, and per layer its name and how often it was called (None if unknown)."""

    words: str
    source: str
    names: tuple[str, ...]
    calls: tuple[int | None, ...]


class DeviceLayers(NamedTuple):
    """The layers of a device: its lists, and the sums by row. `cautions` say what these do not tell, or leave out."""

    lists: tuple[LayerList, ...]
    sums: dict[LayerKey, LayerSum]
    cautions: tuple[str, ...] = ()


def sum_rows(
    step: int, kernels: StepKernels, rows: npt.NDArray[np.int64], keys: Sequence[LayerKey]
) -> Iterator[tuple[LayerKey, LayerSum]]:
    """Yield the sums of the kernels of a step by the row that each belongs to, an index into `keys`."""
    size = len(keys)
    counts = np.bincount(rows, minlength=size)
    backward = np.bincount(rows, np.where(kernels.is_backward, kernels.dur, 0), size)
    forward = np.bincount(rows, np.where(kernels.is_backward, 0, kernels.dur), size)
    places = np.arange(len(rows))
    last = np.zeros(size, np.int64)
    last[rows] = places
    first = np.zeros(size, np.int64)
    first[rows[::-1]] = places[::-1]
    for row in np.flatnonzero(counts).tolist():
        yield (
            keys[row],
            LayerSum(
                int(counts[row]), float(forward[row]), float(backward[row]), step, int(first[row]), int(last[row])
            ),
        )
