"""The names of operators and annotations without what changes from call to call, step to step or process to process."""

from __future__ import annotations

import re
from functools import lru_cache

# Names come from traces: none of these may try a run of letters or digits again from within it.
_STEP = re.compile(r"(#|\b[Ss]tep[ _:=-]?)\d+\b")
# What emit_nvtx adds to the names of operators: part of them in what was stored before they were read as operators.
_CALL = re.compile(r", (?:seq|op_id) = \d++")
_ADDRESS = re.compile(r"\b0x[0-9a-fA-F]{4,}+\b")
_GRAPH = re.compile(r"(?<=CompiledFxGraph )f[a-z2-7]{20,}+\b")
_HASH = re.compile(r"\b(?=[a-f]*+\d)(?=\d*+[a-f])[0-9a-f]{8,}+\b")


@lru_cache(maxsize=8192)
def stable_name(name: str) -> str:
    """ProfilerStep# for ProfilerStep#7, aten::mm for aten::mm, op_id = 12; addresses and hashes are left out."""
    bare = _ADDRESS.sub("0x", _GRAPH.sub("", _CALL.sub("", name)))
    return _HASH.sub("", _STEP.sub(r"\1", bare)) or name
