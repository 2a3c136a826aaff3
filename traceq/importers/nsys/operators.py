"""Operators of PyTorch among NVTX ranges, as torch.autograd.profiler.emit_nvtx writes them.

A name is "NAME[, seq = N][, op_id = N][, sizes = [...]][, input_op_ids = [...]]" (torch/csrc/profiler/util.cpp, getNvtxStr);
op_id since PyTorch 1.9, "stashed seq=N" of backward functions before. Ranges of record_function are written so as well.
"""

from __future__ import annotations

from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from traceq.importers.nsys.columns import constant

_PARTS = (
    r"(?s)^(?P<name>.+?)(?:,(?: stashed)? seq ?= ?(?P<seq>[0-9]+))?(?:, op_id = (?P<op_id>[0-9]+))?"
    r"(?:, sizes = (?P<sizes>\[[][, 0-9-]*\]))?(?:, input_op_ids = \[[(), 0-9]*\])?$"
)
# What only an operator is called, whether numbers stand behind it or not.
_CERTAIN = (
    r"^(aten|prim|c10d|torch::autograd)::[\w:.]+(,|$)|^autograd::engine::evaluate_function: "
    r"|^\w+Backward([0-9]+(,|$)|,(?: stashed)? seq)|^(record_param_comms|triton_(poi|red|per|for|tem)_\w+)(,|$)"
)
# With an op_id: operators of any library, and those of PyTorch and Triton that name none. Whatever has a sequence number is
# part of the graph of autograd. All other ranges with an op_id are record_function("...") of a program or library: annotations.
_LIBRARY = r"^[a-z_]\w*::[\w:.]+$|^detach_?$|^triton_\w+$"


class Ranges(NamedTuple):
    """Ranges, and what their names say."""

    kinds: pa.Array
    names: pa.Array
    args: dict[str, pa.Array]


def ranges(names: pa.Array, nested: pa.Array) -> Ranges:
    """What ranges of these names are: kind, name without numbers, members of args as the PyTorch profiler calls them.

    Only `nested` ranges, pushed and popped on one thread, are operators.
    """
    encoded = names if pa.types.is_dictionary(names.type) else names.dictionary_encode()
    values = encoded.dictionary
    certain = pc.match_substring_regex(values, _CERTAIN)
    if not pc.any(pc.or_(certain, pc.match_substring(values, ", op_id = "))).as_py():
        return Ranges(constant("annotation", len(names)), names, {})
    parts = pc.extract_regex(values, _PARTS)
    name, seq, op_id, sizes = (_text(parts, part) for part in ("name", "seq", "op_id", "sizes"))
    numbered = op_id.is_valid()
    known = pc.or_(pc.match_substring_regex(name, _LIBRARY), seq.is_valid())
    is_operator = pc.or_(certain, pc.and_(numbered, known))
    stripped = pc.or_(certain, numbered)
    rows = encoded.indices
    kinds = pc.if_else(pc.and_(is_operator.take(rows), nested), "op", "annotation")
    members = {"Sequence number": seq, "op_id": op_id, "Input Dims": sizes}
    nothing = pa.scalar(None, pa.string())
    return Ranges(
        kinds.dictionary_encode(),
        pc.if_else(stripped, name, values).take(rows),
        {key: pc.if_else(stripped, part, nothing).take(rows) for key, part in members.items()},
    )


def _text(parts: pa.StructArray, part: str) -> pa.Array:
    """One part of every name; NULL where it is not there."""
    found = pc.struct_field(parts, part)
    return pc.if_else(pc.equal(found, ""), pa.scalar(None, pa.string()), found)
