"""The machine as the process sees it: CPUs, memory and disk by Linux' own files, GPUs by NVML, else by nvidia-smi."""

from __future__ import annotations

import os
import platform
import re
import subprocess
import warnings
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

from traceq.capture.monitor import visible_handles
from traceq.common.process import cpu_quota, find_tool, memory_limit

_PROC, _SYS = Path("/proc"), Path("/sys")

_NETWORK = re.compile(
    r"nfs\d?|cifs|smb\d?|lustre|ceph|gpfs|beegfs|glusterfs|9p|afs|ocfs2|gfs2|wekafs|fuse\.(?!fuse-overlayfs|bindfs).*"
)
_MEMORY = frozenset(("tmpfs", "ramfs"))
_OVERLAY = frozenset(("overlay", "aufs", "fuse.fuse-overlayfs"))

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


def collect(*facts: tuple[str, Callable[[], object]]) -> dict[str, object]:
    """Return the value of each (name, function) by name; facts whose function fails are left out, warnings suppressed."""
    found: dict[str, object] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, ask in facts:
            with suppress(Exception):
                found[name] = ask()
    return found


def collect_host() -> dict[str, object]:
    """Return facts about the host, by name."""
    return collect(
        ("cpu", _cpu_model),
        ("cpus", os.cpu_count),
        ("affinity", lambda: len(os.sched_getaffinity(0))),
        ("cpu_quota", cpu_quota),
        ("memory", lambda: os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")),
        ("memory_limit", memory_limit),
        ("disk", lambda: disk_kind(Path.cwd())),
        ("numa_nodes", lambda: len(list((_SYS / "devices/system/node").glob("node[0-9]*"))) or None),
        ("kernel", _kernel_version),
    )


def _kernel_version() -> str | None:
    """Return the numbers of the kernel's version, without the build's name, which may be a company's own."""
    numbers = re.match(r"\d+(?:\.\d+){1,2}", platform.release())
    return numbers and numbers[0]


def _cpu_model() -> str | None:
    found = re.search(r"^(?:model name|Model|cpu model)\s*:\s*(.+)$", (_PROC / "cpuinfo").read_text(), re.MULTILINE)
    return found and found[1].strip()


def disk_kind(folder: Path) -> str | None:
    """Return the kind of the folder's disk: rotational, ssd, nvme, virtual, network, overlay, memory; None if unknown."""
    device = folder.stat().st_dev
    number = f"{os.major(device)}:{os.minor(device)}"
    kind, source = _find_mount(number)
    if kind in _MEMORY:
        return "memory"
    if kind in _OVERLAY:
        return "overlay"
    if kind is not None and _NETWORK.fullmatch(kind):
        return "network"
    # btrfs and the like have numbers of their own: the device is in the table of mounts.
    block = _SYS / "dev/block" / number
    return _block_kind(block if block.exists() else _SYS / "class/block" / Path(source or "").name)


def _find_mount(number: str) -> tuple[str | None, str | None]:
    """Return file system and source of the mount of the device `number` (MAJOR:MINOR), (None, None) if not found."""
    for line in (_PROC / "self/mountinfo").read_text().splitlines():
        before, _, after = line.partition(" - ")
        if before.split(" ")[2] == number:
            kind, source, *_ = after.split(" ")
            return kind, source
    return None, None


def _block_kind(block: Path) -> str | None:
    """Return the kind of a block device's disk, also for a partition, or for disks below it (LVM, RAID)."""
    real = block.resolve()
    whole = real.parent if (real / "partition").exists() else real
    below = next(iter(sorted((whole / "slaves").glob("*"))), None)
    if below is not None:
        return _block_kind(below)
    turns = (whole / "queue/rotational").read_text().strip()
    if whole.name.startswith("nvme"):
        return "nvme"
    if whole.name.startswith(("vd", "xvd")):
        # What is below it, the hypervisor does not say.
        return "virtual"
    return "rotational" if turns == "1" else "ssd"


def collect_gpus() -> list[dict[str, object]]:
    """Return facts about each GPU, in the order of the process's own numbers; empty without NVML and nvidia-smi."""
    try:
        nvml = import_module("pynvml")
        nvml.nvmlInit()
    except Exception:  # noqa: BLE001 - NVML has an error class for each of its codes
        return _ask_command()
    return [_ask_nvml(nvml, handle) for handle in visible_handles(nvml)]


def _ask_nvml(nvml: Any, handle: Any) -> dict[str, object]:
    return collect(
        ("gpu", lambda: _decode(nvml.nvmlDeviceGetName(handle))),
        ("driver", lambda: _decode(nvml.nvmlSystemGetDriverVersion())),
        ("gpu_memory", lambda: nvml.nvmlDeviceGetMemoryInfo(handle).total),
        ("sm_clock_max", lambda: nvml.nvmlDeviceGetMaxClockInfo(handle, nvml.NVML_CLOCK_SM)),
        ("sm_clock_set", lambda: nvml.nvmlDeviceGetApplicationsClock(handle, nvml.NVML_CLOCK_GRAPHICS)),
        ("memory_clock_max", lambda: nvml.nvmlDeviceGetMaxClockInfo(handle, nvml.NVML_CLOCK_MEM)),
        ("power_limit", lambda: nvml.nvmlDeviceGetEnforcedPowerLimit(handle) / 1000),
    )


def _decode(name: str | bytes) -> str:
    return name.decode() if isinstance(name, bytes) else name


def _ask_command() -> list[dict[str, object]]:
    tool = find_tool("nvidia-smi")
    if tool is None:
        return []
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    query = ",".join(asked for _, asked, _ in _ASKED)
    done = subprocess.run(
        [
            tool,
            f"--query-gpu={query}",
            "--format=csv,noheader,nounits",
            *([] if visible is None else [f"--id={visible}"]),
        ],
        capture_output=True,
        text=True,
        timeout=_PATIENCE,
        check=False,
    )
    return [] if done.returncode or visible == "" else [_parse_row(line) for line in done.stdout.splitlines()]


def _parse_row(line: str) -> dict[str, object]:
    found: dict[str, object] = {}
    for (name, _, times), cell in zip(_ASKED, line.split(", "), strict=False):
        if times is None:
            found[name] = cell.strip()
            continue
        with suppress(ValueError):  # [N/A]
            found[name] = times * float(cell)
    return found
