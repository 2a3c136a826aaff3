"""Passes over layers that follow one another: micro-batches of a pipeline run the same layers again, with little between them."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from traceq.analysis.layers.repeats import KernelSequence, LayerStretch

AMBIGUOUS = "what repeats may be layers or passes over them, as each lies between sends and receives"
OF_PASSES = (
    "layers by the order of kernels are those of one pass, of several that follow one another: chunks of a virtual pipeline would"
    " be passes over the same layers"
)


def cut_passes(
    kernels: KernelSequence, is_border: npt.NDArray[np.bool_], is_end: npt.NDArray[np.bool_], stretch: LayerStretch
) -> list[LayerStretch] | None:
    """Return a stretch in parts: between two layers where something is sent or received, or the input or output is computed.

    `is_border`: a send or receive is launched directly before the kernel. `is_end`: kernels of an embedding, a loss or a
    sampler. Both count only between two layers, where no kernel that the usual layer has lies between them and the next one.
    Experts and contexts are exchanged inside of layers. None where every layer lies between sends and receives, so that each
    may be a pass.
    """
    usual = kernels.numbers[stretch.first : stretch.last]
    is_extra = ~np.isin(kernels.numbers, usual)
    cuts: list[tuple[int, int]] = []
    for previous, start in pairwise(stretch.starts):
        ordinary = np.flatnonzero(~is_extra[previous:start])
        gap = previous + int(ordinary[-1]) + 1 if len(ordinary) else start
        if is_border[gap : start + 1].any() or is_end[gap:start].any():
            cuts.append((gap, start))
    if cuts and len(cuts) == len(stretch.starts) - 1:
        inside = int(is_border[stretch.starts[0] + 1 : stretch.end].sum()) - len(cuts)
        return [stretch] if 2 * inside >= len(stretch.starts) else None
    firsts = [stretch.starts[0], *(start for _, start in cuts)]
    ends = [*(gap for gap, _ in cuts), stretch.end]
    return [
        stretch._replace(starts=tuple(start for start in stretch.starts if first <= start < end), end=end)
        for first, end in zip(firsts, ends, strict=True)
    ]
