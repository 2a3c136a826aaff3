"""What the rules on kernels have in common: how figures and the names of kernels stand in their sentences."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from traceq.diagnosis.rules.shared.wording import cut

# What stands before the name of a kernel, and what wraps the one that says more.
_DECORATION = re.compile(r"^void\s+|\(anonymous namespace\)::|<unnamed>::|\((int|bool|unsigned long)\)")
_WRAPPERS = {"Kernel", "Kernel2", "device_kernel"}
_FUNCTOR = re.compile(r"\b(\w*Functor\w*|\w+_kernel_cuda|\w+_kernel_impl|\w+KernelImpl|\w+Ops)\b")
# The last two sizes of an operand.
_ENDS = re.compile(r"(\d+), ?(\d+)\]")
_SAYS_NOTHING = re.compile(r"^(A?B?UnaryFunctor|BinaryFunctor|gpu_kernel_impl|ReduceOps)$")


def short(name: object) -> str:
    """The name of a kernel without arguments; with the operation that it is made for, where PyTorch's names have one."""
    bare = _DECORATION.sub("", str(name or "unnamed"))
    head, _, rest = bare.partition("<")
    base = head.partition("(")[0].rpartition("::")[2].strip()
    if base in _WRAPPERS and rest:
        base = re.split(r"[<>(,]", rest)[0].rpartition("::")[2].strip()
    functors = [each for each in _FUNCTOR.findall(rest) if not _SAYS_NOTHING.match(each) and each != base]
    return cut(f"{base} ({functors[0]})" if functors else base or bare)


def names(rows: Iterable[Mapping[str, Any]], most: int = 3) -> str:
    """The different operators of `rows`, else kernels, in their order, as a list."""
    found = dict.fromkeys(cut(row["operator"]) if row.get("operator") else short(row["name"]) for row in rows)
    return ", ".join(list(found)[:most])


def padding(row: Mapping[str, Any]) -> str:
    """The sizes at the end of an operand that are not a multiple, each with the next one that is."""
    multiple = row["multiple"]
    ends = [int(size) for pair in _ENDS.findall(row["sizes"] or "") for size in pair]
    odd = [size for size in dict.fromkeys(ends) if size > multiple and size % multiple]
    if not odd:
        return "Its sizes are, so copy the views that do not start at a multiple: x = x.contiguous()"
    return f"Pad {', '.join(f'{size:,} to {-(-size // multiple) * multiple:,}' for size in odd)}"
