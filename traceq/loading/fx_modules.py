"""Modules of the model in graphs as torch.compile prints them: as the program annotates nodes, or by the parameters they use.

A module is the tuple of its names from the outermost in, () for the compiled function as a whole; a number belongs to the name
before it: layers.0.mlp.up is ("layers.0", "mlp", "up").
"""

from __future__ import annotations

import re
from collections import defaultdict
from itertools import groupby, pairwise, takewhile
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

Module = tuple[str, ...]

# A node's name, and its call up to the end of the line.
_NODE = re.compile(r'^\s+(\w+)(?:: "[^"]*")? = (\S.*)$')
# Dynamo's name of an input that is a parameter or buffer: L['self']._modules['up']._parameters['weight'].
_PARAMETER = re.compile(r"\bl_\w+?_(?:parameters|buffers)_\w+_(?!\w)")
_KIND_OF_PARAMETER = re.compile(r"_(?:parameters|buffers)_")
_ANNOTATED = re.compile(r"^\s*#.* Annotation: \{.*?'module_fqn': '([^']*)'")
# PyTorch cuts annotations after 40 characters.
_CUT = "..."
# PyTorch's wrappers are none of the model's modules.
_WRAPPERS = frozenset(("_checkpoint_wrapped_module", "_fsdp_wrapped_module", "_orig_mod", "orig_mod"))


def read_annotated(text: str) -> dict[str, Module]:
    """Return the modules that a program names (`module_fqn`, as torchtitan does) of the nodes of a graph, by node."""
    found: dict[str, Module] = {}
    module: Module | None = None
    for row in text.splitlines():
        if row.lstrip().startswith("#"):
            annotated = _ANNOTATED.match(row)
            module = _parse_annotated(annotated[1]) if annotated else None
        elif module is not None and (node := _NODE.match(row)):
            found[node[1]] = module
    return found


def _parse_annotated(name: str) -> Module:
    """Return the module of a path that PyTorch may have cut: then what is whole of it."""
    parts = name.removesuffix(_CUT).split(".")
    return join_numbers(parts[:-1] if name.endswith(_CUT) else parts)


def read_parameters(text: str) -> dict[str, Module]:
    """Return the module of each node of the graph that Dynamo made, by node.

    A node that uses parameters or buffers is in their module; any other one is in what is around both the last node before it
    that does and the first one behind it. Weights that come again after those of other modules, such as tied ones, tell nothing.
    """
    nodes = [(row[1], row[2].partition(";  ")[0]) for row in map(_NODE.match, text.splitlines()) if row]
    used = [(name, _PARAMETER.findall(call)) for name, call in nodes if not call.startswith("L_")]
    returning = _find_returning([names for _, names in used if names])
    own = [
        common_module(map(_module_of, names))
        if (names := [name for name in all_names if name not in returning])
        else None
        for _, all_names in used
    ]
    anchors = [-1, *(place for place, module in enumerate(own) if module is not None), len(own)]
    for before, behind in pairwise(anchors):
        is_inside = before >= 0 and behind < len(own)
        around = common_module([own[before] or (), own[behind] or ()]) if is_inside else ()
        own[before + 1 : behind] = [around] * (behind - before - 1)
    return {name: module or () for (name, _), module in zip(used, own, strict=True)}


def _find_returning(used: Sequence[Sequence[str]]) -> set[str]:
    """Return the parameters that are used again after those of other modules; `used` has those of each node, in order."""
    runs: defaultdict[str, set[int]] = defaultdict(set)
    stretches = groupby(used, lambda names: common_module(map(_module_of, names)))
    for number, (_, stretch) in enumerate(stretches):
        for names in stretch:
            for name in names:
                runs[name].add(number)
    return {name for name, numbers in runs.items() if len(numbers) > 1}


def _module_of(parameter: str) -> Module:
    """Return the module of a parameter by its name in Dynamo's graph: l_self_modules_layers_modules_0_parameters_weight_."""
    return join_numbers(_KIND_OF_PARAMETER.split(parameter)[0].split("_modules_")[1:])


def join_numbers(parts: Iterable[str]) -> Module:
    """Return the module of the names of a path: numbers joined to the name before them, wrappers left out."""
    joined: list[str] = []
    for part in parts:
        if part in _WRAPPERS or not part:
            continue
        if part.isdecimal() and joined:
            joined[-1] += f".{part}"
        else:
            joined.append(part)
    return tuple(joined)


def common_module(modules: Iterable[Module]) -> Module:
    """Return the innermost module around all of `modules`: what their paths have in common at the begin; () without any."""
    return tuple(names[0] for names in takewhile(_are_equal, zip(*modules, strict=False)))


def _are_equal(names: Sequence[str]) -> bool:
    return len(set(names)) == 1


def split_calls(text: str) -> Iterator[tuple[str, list[str]]]:
    """Yield the calls of kernels in generated code in their order: name with handle if it has one, and source nodes."""
    sources: list[str] = []
    handle: str | None = None
    for row in text.splitlines():
        if found := _SOURCES.match(row):
            sources = [name for name in found[1].split(", ") if name]
        elif found := _HANDLE.match(row):
            handle = found[1]
        elif found := _CALL.match(row):
            yield handle or found[1], sources
            sources, handle = [], None


# In the code that Inductor writes around its kernels: comments above a call, and the call.
_SOURCES = re.compile(r"^\s+# (?:Topologically Sorted|Unsorted) Source Nodes: \[([^\]]*)\]")
_HANDLE = re.compile(r"^\s+# \[Provenance debug handles\] (\S+)$")
_CALL = re.compile(r"^\s+(?:\w+ = )?(extern_kernels\.\w+|torch\.ops\.\w+\.\w+\.\w+|(?:triton|cpp)_\w+?)(?:\.run)?\(")
