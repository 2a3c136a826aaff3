"""Layers by the names of modules: the outermost places of the model with several modules that differ only in a number."""

from __future__ import annotations

import re
from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from traceq.analysis.layers.rows import AFTER, BEFORE, BETWEEN, OTHER_STEPS, LayerKey, LayerList, LayerSum, sum_rows

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from traceq.analysis.layers.rows import StepKernels

# Fewer alike modules are no list.
_LEAST_MODULES = 3
# Of the time of all kernels: what a list beside the first one has at least.
_WORTH_LISTING = 0.01
_NUMBER = re.compile(r"[_.](\d+)(?=/|$)")
# PyTorch's containers and wrappers of any modules: what repeats is inside of them. Pieces of a graph (submod_3) that a server
# splits at attention are the end of one layer and the begin of the next.
_CONTAINERS = (
    *("Sequential", "ModuleList", "ModuleDict", "GraphModule", "OptimizedModule", "CheckpointWrapper"),
    *("FullyShardedDataParallel", "submod"),
)


class NamedModule(NamedTuple):
    """A row of the table module: its path, the time of its kernels in ns, and how often it was called."""

    module: str
    dur: float
    calls: int | None
    is_annotation: bool


def find_lists(modules: Sequence[NamedModule], dur: float) -> list[LayerList]:
    """Return the lists of layers among the modules of a device whose compute kernels take `dur` ns; most time first.

    A list is a place with at least three modules that differ only in numbers, of modules that have others inside, or are named
    by number (layers.3). None is inside of another one.
    """
    places: defaultdict[str, list[NamedModule]] = defaultdict(list)
    parents = {module.module.rpartition("/")[0] for module in modules}
    for module in modules:
        name = module.module.rpartition("/")[2]
        is_inner = module.module in parents or "." in name
        if is_inner and _NUMBER.search(name) and _NUMBER.sub("", name) not in _CONTAINERS:
            places[_NUMBER.sub("", module.module)].append(module)
    ranked = sorted(places, key=lambda place: (-sum(module.dur for module in places[place]), len(place)))
    found: dict[str, LayerList] = {}
    for place in ranked:
        layers = sorted(places[place], key=lambda module: _numbers_of(module.module))
        is_nested = any(place.startswith(f"{other}/") or other.startswith(f"{place}/") for other in found)
        is_worth = not found or sum(module.dur for module in layers) >= _WORTH_LISTING * dur
        if len(layers) < _LEAST_MODULES or is_nested or not is_worth:
            continue
        found[place] = LayerList(
            place,
            "annotation" if any(module.is_annotation for module in layers) else "module",
            tuple(module.module for module in layers),
            tuple(module.calls for module in layers),
        )
    return list(found.values())


def _numbers_of(module: str) -> list[int]:
    return [int(number) for number in _NUMBER.findall(module)]


def sum_named(
    steps: Iterable[tuple[int, StepKernels]], lists: Sequence[LayerList], paths: Sequence[str]
) -> dict[LayerKey, LayerSum]:
    """Return the sums of the layers in `lists`, and of all else; `paths` are the modules of kernels.

    The steps are of one device, by their number.
    """
    layer_of = {
        name: LayerKey(number, layer) for number, row in enumerate(lists) for layer, name in enumerate(row.names)
    }
    keys = [BEFORE, BETWEEN, AFTER, OTHER_STEPS, *layer_of.values()]
    place_of = {key: place for place, key in enumerate(keys)}
    # the last for kernels in no module
    around = [_find_layer_around(path, layer_of) for path in paths]
    row_of_path = np.array([-1 if key is None else place_of[key] for key in around] + [-1], np.int64)
    found: dict[LayerKey, LayerSum] = {}
    for step, kernels in steps:
        rows = row_of_path[kernels.path]
        inside = np.flatnonzero(rows >= 0)
        places = np.arange(len(rows))
        if len(inside):
            between = np.where(
                places < inside[0], place_of[BEFORE], np.where(places > inside[-1], place_of[AFTER], place_of[BETWEEN])
            )
            rows = np.where(rows < 0, between, rows)
        else:
            rows = np.full(len(rows), place_of[OTHER_STEPS])
        for key, found_sum in sum_rows(step, kernels, rows, keys):
            found[key] = found[key].add_sums(found_sum) if key in found else found_sum
    return found


def _find_layer_around(path: str, layer_of: dict[str, LayerKey]) -> LayerKey | None:
    """Return the layer that the module at `path` is, or is in; None for none."""
    while path and path not in layer_of:
        path = path.rpartition("/")[0]
    return layer_of.get(path)
