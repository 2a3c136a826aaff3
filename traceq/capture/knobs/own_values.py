"""The values that a program itself gives to what knobs set, so that no value is tried that it has anyway."""

from __future__ import annotations

import gc
from contextlib import suppress
from typing import Any

from traceq.capture.snapshot import program
from traceq.capture.snapshot.seen import Seen

_OF_LOADERS = ("num_workers", "prefetch_factor", "persistent_workers", "pin_memory", "batch_size")
_TYPES = {"bfloat16": "bf16", "float16": "fp16"}


def read_own_values(torch: Any, seen: Seen) -> dict[str, str]:
    """Return the values by knob, as text; without those that differ between loaders or optimizers, or cannot be told."""
    found: dict[str, object] = {}
    with suppress(Exception):  # a PyTorch that is different inside: then that is not known
        alive = program.find_alive(torch)
        found |= _find_common(seen.loaders(alive), _OF_LOADERS)
        optimizers = _find_common(program.collect_optimizers(torch, alive), ("fused", "foreach"))
        # Without a choice of the program PyTorch takes no fused form; whether it takes foreach depends on the device.
        usual = {"fused": False, "foreach": None}
        found |= {name: usual[name] if value == "default" else value for name, value in optimizers.items()}
        compiled = program.collect_compile(alive)
        found["compile"] = compiled["compile"]
        found["amp"] = _TYPES.get(seen.autocast(compiled) or "")
    precision = program.collect_precision(torch)
    if precision.get("tf32_matmul") == precision.get("tf32_cudnn"):
        found["tf32"] = precision.get("tf32_matmul")
    found["cudnn_benchmark"] = precision.get("cudnn_benchmark")
    found["threads"] = torch.get_num_threads()
    found["gc"] = None if gc.isenabled() else "off"
    known = {name: value for name, value in found.items() if value is not None}
    return {name: str(int(value) if isinstance(value, bool) else value) for name, value in known.items()}


def _find_common(things: list[program.Facts], names: tuple[str, ...]) -> dict[str, object]:
    """Return the facts among `names` that all things share."""
    return {
        name: things[0][name]
        for name in names
        if things and name in things[0] and all(thing.get(name) == things[0][name] for thing in things)
    }
