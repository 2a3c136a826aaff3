"""Settings of PyTorch's DataLoaders: workers, prefetching, pinned memory, batch size."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Mapping
from typing import Any

from traceq.capture.knobs.knob import SWITCH, Knob, KnobHooks, is_on, parse_positive, parse_whole

KNOBS = (
    Knob("num_workers", "worker processes of each DataLoader", "a number, 0 for none", parse_whole),
    Knob("prefetch_factor", "batches that each worker prepares ahead", "a number", parse_positive),
    Knob("persistent_workers", "workers kept from epoch to epoch", SWITCH, is_on),
    Knob("pin_memory", "batches in pinned memory", SWITCH, is_on),
    Knob("batch_size", "samples in each batch of the DataLoaders", "a number", parse_positive),
)

# What a DataLoader takes only with workers.
_OF_WORKERS = ("prefetch_factor", "persistent_workers", "timeout", "multiprocessing_context")


def apply(torch: Any, values: Mapping[str, str], hooks: KnobHooks) -> None:
    """Use these values of loader knobs (text by knob) for each DataLoader that the program makes from now on."""
    from torch.utils.data import DataLoader

    original = DataLoader.__init__
    signature = inspect.signature(original)
    has_gpu = torch.cuda.is_available()

    @functools.wraps(original)
    def __init__(*args: Any, **kwargs: Any) -> None:  # noqa: N807 - it becomes the method
        bound = signature.bind(*args, **kwargs)
        change_arguments(bound.arguments, values, hooks, has_gpu=has_gpu)
        original(*bound.args, **bound.kwargs)

    DataLoader.__init__ = __init__  # type: ignore[method-assign]


def change_arguments(given: dict[str, Any], values: Mapping[str, str], hooks: KnobHooks, *, has_gpu: bool) -> None:
    """Put the values of loader knobs into the arguments `given` to a DataLoader, as far as its other arguments allow.

    Arguments that need workers are removed where there are none. `hooks` gets the names of knobs that act, and
    reasons of those that do not; pinned memory acts only with a GPU.
    """
    if "num_workers" in values:
        given["num_workers"] = int(values["num_workers"])
        hooks.acted.add("num_workers")
    has_workers = bool(given.get("num_workers"))
    if not has_workers:
        for name in _OF_WORKERS:
            given.pop(name, None)
    for name, value in (("prefetch_factor", int), ("persistent_workers", is_on)):
        if name in values and has_workers:
            given[name] = value(values[name])
            hooks.acted.add(name)
        elif name in values:
            hooks.reasons[name] = "the DataLoaders have no workers: set num_workers as well"
    if "pin_memory" in values:
        given["pin_memory"] = is_on(values["pin_memory"])
        if has_gpu:
            hooks.acted.add("pin_memory")
        else:
            hooks.reasons["pin_memory"] = "there is no GPU that PyTorch could pin memory for"
    if "batch_size" in values:
        _change_batch_size(given, values["batch_size"], hooks)


def _change_batch_size(given: dict[str, Any], size: str, hooks: KnobHooks) -> None:
    if given.get("batch_sampler") is not None or given.get("batch_size", 1) is None:
        hooks.reasons["batch_size"] = "the program makes its batches itself (batch_sampler, batch_size=None)"
        return
    given["batch_size"] = int(size)
    hooks.acted.add("batch_size")
