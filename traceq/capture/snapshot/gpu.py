"""The GPUs that the process may use: by NVML where pynvml is there, else as nvidia-smi says, else nothing."""

from __future__ import annotations

import os
import shutil
import subprocess
from contextlib import suppress
from importlib import import_module
from typing import Any

from traceq.capture.monitor import visible_handles
from traceq.capture.snapshot.told import told

# Name of the fact, what nvidia-smi calls it, what it multiplies.
_ASKED = (
    ("gpu", "name", None),
    ("driver", "driver_version", None),
    ("gpu_memory", "memory.total", 1 << 20),
    ("sm_clock_max", "clocks.max.sm", 1),
    ("sm_clock_set", "clocks.applications.graphics", 1),
    ("memory_clock_max", "clocks.max.memory", 1),
    ("power_limit", "enforced.power.limit", 1),
)

# Seconds that the program waits for nvidia-smi, which may have to wake the driver up.
_PATIENCE = 5


def gpus() -> list[dict[str, object]]:
    """The facts of each GPU, in the order in which the process counts them; none where nobody says."""
    try:
        nvml = import_module("pynvml")
        nvml.nvmlInit()
    except Exception:  # noqa: BLE001 - NVML has an error class for each of its codes
        return _by_command()
    return [_by_nvml(nvml, handle) for handle in visible_handles(nvml)]


def _by_nvml(nvml: Any, handle: Any) -> dict[str, object]:
    return told(
        ("gpu", lambda: _text(nvml.nvmlDeviceGetName(handle))),
        ("driver", lambda: _text(nvml.nvmlSystemGetDriverVersion())),
        ("gpu_memory", lambda: nvml.nvmlDeviceGetMemoryInfo(handle).total),
        ("sm_clock_max", lambda: nvml.nvmlDeviceGetMaxClockInfo(handle, nvml.NVML_CLOCK_SM)),
        ("sm_clock_set", lambda: nvml.nvmlDeviceGetApplicationsClock(handle, nvml.NVML_CLOCK_GRAPHICS)),
        ("memory_clock_max", lambda: nvml.nvmlDeviceGetMaxClockInfo(handle, nvml.NVML_CLOCK_MEM)),
        ("power_limit", lambda: nvml.nvmlDeviceGetEnforcedPowerLimit(handle) / 1000),
    )


def _text(name: str | bytes) -> str:
    return name.decode() if isinstance(name, bytes) else name


def _by_command() -> list[dict[str, object]]:
    if shutil.which("nvidia-smi") is None:
        return []
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    query = ",".join(asked for _, asked, _ in _ASKED)
    done = subprocess.run(
        [
            "nvidia-smi",
            f"--query-gpu={query}",
            "--format=csv,noheader,nounits",
            *([] if visible is None else [f"--id={visible}"]),
        ],
        capture_output=True,
        text=True,
        timeout=_PATIENCE,
        check=False,
    )
    return [] if done.returncode or visible == "" else [_row(line) for line in done.stdout.splitlines()]


def _row(line: str) -> dict[str, object]:
    found: dict[str, object] = {}
    for (name, _, times), cell in zip(_ASKED, line.split(", "), strict=False):
        if times is None:
            found[name] = cell.strip()
            continue
        with suppress(ValueError):  # [N/A]
            found[name] = times * float(cell)
    return found
