"""Options on how traces are read."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from traceq.analysis.steps.choice import Choice

# Files beside those that are read: one, or several.
Paths = str | Path | Sequence[str | Path]


class TraceOptions(msgspec.Struct, frozen=True):
    """Options for ingesting traces.

    About the steps, as text: `step_range`, a regular expression for the annotations that are the steps; `steps_per`, how many
    steps there are in each unit found (2), or which part of one a unit is (1/2); `window`, what to judge: gpu, a name, or A..B
    with times or names. `capture` are traces of the same program that tell of the kernels of its graphs, `inductor` files or
    folders of torch.compile that tell of its kernels, by default those beside each trace. `axes` is the mesh of the job's ranks,
    the axis whose ranks are neighbours first: tp=8,dp=4.
    """

    step_range: str | None = None
    steps_per: str | None = None
    window: str | None = None
    capture: Paths = ()
    inductor: Paths = ()
    axes: str | None = None

    @property
    def choice(self) -> Choice:
        """The choice of steps and axes that the options make. Raises WrongUse where an option cannot be read."""
        from traceq.analysis.steps.choice import choice_of

        return choice_of(self.step_range, self.steps_per, self.window, self.axes)

    @property
    def choice_texts(self) -> dict[str, str]:
        """The texts of the options about steps and axes that are set, by name."""
        options = {
            "step_range": self.step_range,
            "steps_per": self.steps_per,
            "window": self.window,
            "axes": self.axes,
        }
        return {name: value for name, value in options.items() if value is not None}


AS_FOUND = TraceOptions()
