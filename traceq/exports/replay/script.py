"""The script that runs recorded operators again: harness.py, with these operators as its data."""

from __future__ import annotations

import json
from collections.abc import Sequence
from math import isfinite
from pathlib import Path

from traceq.common.text import printable
from traceq.exports.replay.arguments import Argument, RecordedTensor, Setting
from traceq.exports.replay.plan import ReplayPlan
from traceq.exports.replay.values import is_tensor

_BEGIN, _END = "# <operators>\n", "# </operators>\n"
_MOST_KERNELS = 3


def write_script(plans: Sequence[ReplayPlan]) -> str:
    """Return the text of a script that runs the planned operators; it needs PyTorch only."""
    harness = Path(__file__).with_name("harness.py").read_text("utf-8")
    data = "".join(_format_operator(plan) for plan in plans)
    return replace_data(harness, f"OPERATORS: list[Operator] = [\n{data}]\n")


def replace_data(harness: str, data: str) -> str:
    """Return the text of a harness with `data` in place of its example."""
    before, _, rest = harness.partition(_BEGIN)
    return before + data + rest.partition(_END)[2]


def format_text(text: str) -> str:
    """Return a text of a trace as source text in ASCII; escape what could steer a terminal."""
    return json.dumps(printable(text), ensure_ascii=False).encode("ascii", "backslashreplace").decode()


def _format_operator(plan: ReplayPlan) -> str:
    """Return the operator as source text, a field a line; fields that say nothing are left out."""
    recorded = plan.recorded
    arguments = "".join(f"            {_format_argument(argument)},\n" for argument in plan.arguments)
    fields = {
        "gradient": None if plan.gradient is None else _format_argument(plan.gradient),
        "wanted": _format_numbers(plan.wanted),
        "batch": _format_numbers(plan.batch),
        "trace": format_text(recorded.trace),
        "step": _format_number(recorded.step),
        "calls": _format_number(recorded.calls),
        "median_ns": _format_number(recorded.median_dur),
        "least_ns": _format_number(recorded.least_dur),
        "on_gpu": "True" if recorded.kernels else None,
        "device": None if recorded.device is None else format_text(recorded.device),
        "kernels": _format_texts(recorded.kernels[:_MOST_KERNELS]),
        "flops": _format_number(recorded.flops),
        "bytes": _format_number(recorded.bytes),
        "ceiling_ns": _format_number(recorded.ceiling_dur),
        "reachable_ns": _format_number(recorded.reachable_dur),
        "ceiling_limit": None if recorded.ceiling_limit is None else format_text(recorded.ceiling_limit),
        "assumed": _format_texts(plan.assumed),
    }
    lines = "".join(f"        {name}={text},\n" for name, text in fields.items() if text is not None)
    return (
        "    Operator(\n"
        f"        name={format_text(recorded.name)},\n"
        f"        called={format_text(plan.called)},\n"
        f"        arguments=[\n{arguments}        ],\n"
        f"{lines}    ),\n"
    )


def _format_argument(argument: Argument) -> str:
    """Return an argument as source text: Tensor((64, 32), (32, 1), "float32"), 1, [1, 1], ... for what was not recorded."""
    if is_tensor(argument):
        return _format_tensor(argument)
    if isinstance(argument, list):
        parts = (
            _format_tensor(part) if isinstance(part, RecordedTensor) else _format_setting(part) for part in argument
        )
        return f"[{', '.join(parts)}]"
    return _format_setting(argument)  # type: ignore[arg-type] # a list is none here


def _format_tensor(tensor: RecordedTensor) -> str:
    """Return a tensor as source text."""
    parts = [repr(tensor.shape), repr(tensor.strides), "None" if tensor.dtype is None else format_text(tensor.dtype)]
    if tensor.fill != "positive" or tensor.high:
        parts.append(format_text(tensor.fill))
    if tensor.high:
        parts.append(str(tensor.high))
    return f"Tensor({', '.join(parts)})"


def _format_setting(value: Setting) -> str:
    """Return a setting as source text."""
    if value is ...:
        return "..."
    if isinstance(value, float) and not isfinite(value):
        return f'float("{value}")'
    return format_text(value) if isinstance(value, str) else repr(value)


def _format_number(value: int | None) -> str | None:
    """Return a number as source text, 1_000_000; None without one."""
    return None if value is None else f"{value:_}"


def _format_numbers(values: Sequence[int]) -> str | None:
    """Return numbers as the source text of a tuple; None without any."""
    return repr(tuple(values)) if values else None


def _format_texts(values: Sequence[str]) -> str | None:
    """Return texts as the source text of a tuple; None without any."""
    return f"({', '.join(map(format_text, values))},)" if values else None
