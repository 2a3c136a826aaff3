"""The user's choice of the steps of a trace, and what the user says of its ranks."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import NamedTuple

from traceq.analysis.communication.mesh import Mesh, read_mesh
from traceq.errors import WrongUse

_SECONDS = re.compile(r"(?P<number>[-+]?\d+(?:\.\d+)?)(?P<unit>s|ms|us|ns)?")
_NANOSECONDS = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1, None: 10**9}


class Window(NamedTuple):
    """The ends of a window: ns from the first GPU work (without a GPU, from the first slice), names of annotations, or None.

    None is an end without a limit; both are None for all GPU work.
    """

    first: int | str | None
    last: int | str | None


class Choice(NamedTuple):
    """The user's choice of steps, and the mesh of the job's ranks.

    `step_range` is a regular expression for the annotations that are the steps. `steps_per` is the number of steps in
    each unit that is found; 1/2 where two units make up a step. `window` is the part to judge; the rest is start-up and
    tail. `mesh` has the axes of parallelism, empty where they are to be found out.
    """

    step_range: str | None = None
    steps_per: Fraction = Fraction(1)
    window: Window | None = None
    mesh: Mesh = ()


AS_FOUND = Choice()


def choice_of(
    step_range: str | None = None, steps_per: str | None = None, window: str | None = None, axes: str | None = None
) -> Choice:
    """Return the choice that the texts of the options give (None: not given); raise WrongUse where a text is not understood."""
    return Choice(
        step_range=step_range,
        steps_per=Fraction(1) if steps_per is None else read_steps_per(steps_per),
        window=None if window is None else read_window(window),
        mesh=() if axes is None else read_mesh(axes),
    )


def read_steps_per(text: str) -> Fraction:
    """Return the number in `text`, such as 2 or 1/2; raise WrongUse unless it is n or 1/n."""
    try:
        number = Fraction(text.strip())
    except (ValueError, ZeroDivisionError):
        number = Fraction(0)
    if number <= 0 or 1 not in (number.numerator, number.denominator):
        msg = f"--steps-per {text}: a whole number of steps in each unit found (2), or one part of it (1/2: two units are a step)"
        raise WrongUse(msg)
    return number


def read_window(text: str) -> Window:
    """Return the window that `text` describes; raise WrongUse where it is not understood.

    It is "gpu", A..B with times (3.2s..4s, 250ms..) or names of annotations, or a single name.
    """
    if text == "gpu":
        return Window(None, None)
    first, found, last = text.partition("..")
    if not found:
        return Window(text, text)
    window = Window(_parse_end(first), _parse_end(last))
    if window.first is None and window.last is None:
        msg = f"--window {text}: give a start or an end, as 3.2s..4s, 10.., NAME..NAME, or gpu"
        raise WrongUse(msg)
    if isinstance(window.first, int) and isinstance(window.last, int) and window.first >= window.last:
        msg = f"--window {text}: it ends before it starts"
        raise WrongUse(msg)
    return window


def _parse_end(text: str) -> int | str | None:
    """Return an end of a window: a time in ns (without a unit, text is in s), or the name of an annotation; None for no text."""
    text = text.strip()
    if match := _SECONDS.fullmatch(text):
        return round(Fraction(match["number"]) * _NANOSECONDS[match["unit"]])
    return text or None
