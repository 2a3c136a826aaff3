"""Families of events without a category, as torch.autograd.profiler writes them: by its two lanes and by PyTorch's own names."""

from __future__ import annotations

import re
from typing import Any

# The process names that torch.autograd.profiler gives to its lanes; the thread of the second is the device.
_HOST_LANE, GPU_LANE = "CPU functions", "CUDA functions"

# In DuckDB's regular expressions and Python's.
_ANNOTATION = r"^(ProfilerStep#|Optimizer\.|enumerate\(DataLoader\)|nccl:)"
_OPERATOR = r"^(aten|autograd|c10d|c10d_functional|prim|profiler|quantized|torch|torchvision)::"

# Macro of setup.sql for the decoder: NULL for other events.
MACRO = f"""
create macro _family_without_category(name, pid) as case
    when pid = '"{GPU_LANE}"' then 'kernel'
    when regexp_matches(name, '{_ANNOTATION}') then 'annotation'
    when pid = '"{_HOST_LANE}"' or regexp_matches(name, '{_OPERATOR}') then 'op'
end
"""

_ANNOTATIONS, _OPERATORS = re.compile(_ANNOTATION), re.compile(_OPERATOR)


def find_family(event: Any) -> str:
    """Return the family of rows (kernel, annotation, op) of an X event without a category, by its lane and name.

    "other" where neither tells it.
    """
    name = str(event.name)
    if event.pid == GPU_LANE:
        return "kernel"
    if _ANNOTATIONS.match(name):
        return "annotation"
    return "op" if event.pid == _HOST_LANE or _OPERATORS.match(name) else "other"
