"""The machine as the process sees it: CPUs, memory, the kind of disk it works on. Read from Linux' own files."""

from __future__ import annotations

import os
import platform
import re
from pathlib import Path

from traceq.capture.snapshot.told import told
from traceq.common.process import cpu_quota, memory_limit

_PROC, _SYS = Path("/proc"), Path("/sys")

_NETWORK = re.compile(
    r"nfs\d?|cifs|smb\d?|lustre|ceph|gpfs|beegfs|glusterfs|9p|afs|ocfs2|gfs2|wekafs|fuse\.(?!fuse-overlayfs|bindfs).*"
)
_MEMORY = frozenset(("tmpfs", "ramfs"))
_OVERLAY = frozenset(("overlay", "aufs", "fuse.fuse-overlayfs"))


def host() -> dict[str, object]:
    """What the system says, by name."""
    return told(
        ("cpu", _cpu_model),
        ("cpus", os.cpu_count),
        ("affinity", lambda: len(os.sched_getaffinity(0))),
        ("cpu_quota", cpu_quota),
        ("memory", lambda: os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")),
        ("memory_limit", memory_limit),
        ("disk", lambda: disk(Path.cwd())),
        ("numa_nodes", lambda: len(list((_SYS / "devices/system/node").glob("node[0-9]*"))) or None),
        ("kernel", _kernel),
    )


def _kernel() -> str | None:
    """Its numbers: what stands behind them is the name of a build, at times of a company's own."""
    numbers = re.match(r"\d+(?:\.\d+){1,2}", platform.release())
    return numbers and numbers[0]


def _cpu_model() -> str | None:
    found = re.search(r"^(?:model name|Model|cpu model)\s*:\s*(.+)$", (_PROC / "cpuinfo").read_text(), re.MULTILINE)
    return found and found[1].strip()


def disk(folder: Path) -> str | None:
    """The kind of disk that the folder lies on: rotational, ssd, nvme, virtual, network, overlay or memory."""
    device = folder.stat().st_dev
    number = f"{os.major(device)}:{os.minor(device)}"
    kind, source = _mount(number)
    if kind in _MEMORY:
        return "memory"
    if kind in _OVERLAY:
        return "overlay"
    if kind is not None and _NETWORK.fullmatch(kind):
        return "network"
    # btrfs and the like have numbers of their own: the device is in the table of mounts.
    block = _SYS / "dev/block" / number
    return _of_block(block if block.exists() else _SYS / "class/block" / Path(source or "").name)


def _mount(number: str) -> tuple[str | None, str | None]:
    """File system and source of the mount of this device."""
    for line in (_PROC / "self/mountinfo").read_text().splitlines():
        before, _, after = line.partition(" - ")
        if before.split(" ")[2] == number:
            kind, source, *_ = after.split(" ")
            return kind, source
    return None, None


def _of_block(block: Path) -> str | None:
    """The kind of a block device, or of the disk that the partition is of, or of the disks below it (LVM, RAID)."""
    real = block.resolve()
    whole = real.parent if (real / "partition").exists() else real
    below = next(iter(sorted((whole / "slaves").glob("*"))), None)
    if below is not None:
        return _of_block(below)
    turns = (whole / "queue/rotational").read_text().strip()
    if whole.name.startswith("nvme"):
        return "nvme"
    if whole.name.startswith(("vd", "xvd")):
        # What is below it, the hypervisor does not say.
        return "virtual"
    return "rotational" if turns == "1" else "ssd"
