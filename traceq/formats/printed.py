"""The values that a program printed while it was recorded, as a file beside its trace: quantities, units and limits.

Only numbers are in it, and words of the tables here: never a line that the program printed, nor a part of one.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

SUFFIX = ".printed.json"
VERSION = 1

# Quantity to its units; None for a number without one. Times are ns, shares are of 1.
QUANTITIES: dict[str, tuple[str | None, ...]] = {
    "step_time": ("ns",),
    "throughput": ("it/s", "samples/s", "tokens/s"),
    "prompt_throughput": ("tokens/s",),
    "generation_throughput": ("tokens/s",),
    "loss": (None,),
    "learning_rate": (None,),
    "gradient_norm": (None,),
    "mfu": ("share",),
}

# Of a program that prints at each step, those of an hour; a file of them has some hundred kB.
MOST_VALUES = 4000


class PrintedValue(NamedTuple):
    """A value that the program printed: `time_ns` since 1970 (UTC), `line` counts the lines with values from 0.

    `step` is the number of the step in the same line, None without one; `steps_completed` counts the steps that traceq had
    seen end by then.
    """

    time_ns: int
    line: int
    step: int | None
    steps_completed: int
    quantity: str
    value: float
    unit: str | None


def values_of(content: dict[str, Any]) -> Iterator[PrintedValue]:
    """Yield the values in the JSON object of such a file; others than traceq writes are left out."""
    listed = content.get("values")
    for row in listed[:MOST_VALUES] if isinstance(listed, list) else ():
        if isinstance(row, list) and len(row) == len(PrintedValue._fields):
            value = PrintedValue(*row)
            if _is_valid(value):
                yield value._replace(value=float(value.value))


def _is_valid(printed: PrintedValue) -> bool:
    whole = (printed.time_ns, printed.line, printed.steps_completed, *(() if printed.step is None else (printed.step,)))
    return (
        all(type(number) is int and 0 <= number < 1 << 62 for number in whole)
        and isinstance(printed.quantity, str)
        and printed.unit in QUANTITIES.get(printed.quantity, ())
        and type(printed.value) in (int, float)
        and math.isfinite(printed.value)
    )
