"""The names that series of different tools have in common: what, and in which unit, after conversion.

A series that none of these names means keeps the tool's own name, after the tool: `sar:memory.dirty`.
"""

from __future__ import annotations

from typing import NamedTuple

SERIES: dict[str, tuple[str, str]] = {
    "gpu_utilization": ("percent", "time in which at least one kernel ran"),
    "gpu_memory_utilization": ("percent", "time in which memory was read or written"),
    "gpu_memory_used": ("bytes", "memory in use, of all processes"),
    "gpu_memory_free": ("bytes", "free memory"),
    "gpu_memory_total": ("bytes", "total memory"),
    "gpu_power": ("W", "power drawn"),
    "gpu_power_limit": ("W", "power limit that is set"),
    "gpu_power_limit_max": ("W", "highest power limit that can be set"),
    "gpu_temperature": ("C", "temperature of the chip"),
    "gpu_memory_temperature": ("C", "temperature of the memory"),
    "gpu_sm_clock": ("MHz", "clock of the multiprocessors"),
    "gpu_sm_clock_max": ("MHz", "highest clock of the multiprocessors"),
    "gpu_memory_clock": ("MHz", "clock of the memory"),
    "gpu_memory_clock_max": ("MHz", "highest clock of the memory"),
    "gpu_throttle_idle": ("", "1: the clock is low because nothing runs"),
    "gpu_throttle_clock_setting": ("", "1: the clock is limited by a setting (application clocks)"),
    "gpu_throttle_power_cap": ("", "1: the clock is reduced to stay below the power limit"),
    "gpu_throttle_hw_slowdown": ("", "1: hardware halves the clock at least: heat or power brake"),
    "gpu_throttle_sync_boost": ("", "1: the clock follows another GPU of its group"),
    "gpu_throttle_thermal_sw": ("", "1: the driver reduces the clock for heat"),
    "gpu_throttle_thermal_hw": ("", "1: hardware reduces the clock for heat"),
    "gpu_throttle_power_brake": ("", "1: hardware reduces the clock as the power supply asks for it"),
    "gpu_power_violation": ("percent", "time in which power held the clock down"),
    "gpu_thermal_violation": ("percent", "time in which heat held the clock down; of nvidia-smi dmon 0 or 1"),
    "cpu_user": ("percent", "CPU time in programs"),
    "cpu_nice": ("percent", "CPU time in programs of lower priority"),
    "cpu_system": ("percent", "CPU time in the kernel"),
    "cpu_iowait": ("percent", "CPU time idle while a disk was read or written"),
    "cpu_steal": ("percent", "time that the hypervisor took"),
    "cpu_idle": ("percent", "CPU time idle"),
    "cpu_count": ("", "CPUs of the host"),
    "cpu_pressure": ("percent", "time in which some thread waited for a CPU (PSI)"),
    "io_pressure": ("percent", "time in which some thread waited for a disk (PSI)"),
    "memory_pressure": ("percent", "time in which some thread waited for memory (PSI)"),
    "run_queue": ("", "threads that run or wait for a CPU"),
    "blocked_threads": ("", "threads that wait for a disk"),
    "load_1": ("", "load average over 1 minute"),
    "load_5": ("", "load average over 5 minutes"),
    "load_15": ("", "load average over 15 minutes"),
    "context_switches": ("1/s", "context switches"),
    "swap_in": ("bytes/s", "memory read back from swap"),
    "swap_out": ("bytes/s", "memory written to swap"),
    "swap_used": ("bytes", "swap in use"),
    "host_memory_free": ("bytes", "unused memory"),
    "host_memory_available": ("bytes", "memory available to programs without swapping"),
    "host_memory_used": ("bytes", "memory in use"),
    "disk_utilization": ("percent", "time in which the disk had requests"),
    "disk_queue": ("", "requests at the disk, on average"),
    "disk_read": ("bytes/s", "bytes read"),
    "disk_write": ("bytes/s", "bytes written"),
    "disk_reads": ("1/s", "reads"),
    "disk_writes": ("1/s", "writes"),
    "disk_read_wait": ("ms", "time of a read, including its time in the queue"),
    "disk_write_wait": ("ms", "time of a write, including its time in the queue"),
    "network_receive": ("bytes/s", "bytes received"),
    "network_send": ("bytes/s", "bytes sent"),
    "process_cpu": ("percent", "time on CPUs, 100 for one of them"),
    "process_wait": ("percent", "time in which the process could have run but had no CPU"),
    "process_memory": ("bytes", "resident memory"),
    "process_read": ("bytes/s", "bytes read from disks"),
    "process_write": ("bytes/s", "bytes written to disks"),
    "process_major_faults": ("1/s", "page faults that read from a disk"),
}

# Bits of NVML's mask of reasons why the clock is not higher (nvmlClocksEventReasons).
REASONS = {
    0x1: "gpu_throttle_idle", 0x2: "gpu_throttle_clock_setting", 0x4: "gpu_throttle_power_cap",
    0x8: "gpu_throttle_hw_slowdown", 0x10: "gpu_throttle_sync_boost", 0x20: "gpu_throttle_thermal_sw",
    0x40: "gpu_throttle_thermal_hw", 0x80: "gpu_throttle_power_brake",
}  # fmt: skip

KIB, MIB = 1 << 10, 1 << 20


class Meaning(NamedTuple):
    """traceq's name of a tool's series, and the factor by which its values are multiplied to be in that series' unit."""

    name: str
    factor: float = 1.0


def name_series(
    tool: str, key: str, unit: str | None, value: float, known: dict[str, Meaning]
) -> tuple[str, str | None, float]:
    """Return (name, unit, converted value) of the tool's series `key`: traceq's name and unit if `known` has the key.

    Otherwise "TOOL:KEY", with unit and value as they are.
    """
    meant = known.get(key)
    if meant is None:
        return f"{tool}:{key}", unit, value
    return meant.name, SERIES[meant.name][0] or None, value * meant.factor


def decode_reasons(mask: float) -> list[tuple[str, float]]:
    """Return (series, 1.0 or 0.0) for each reason to lower the clock that NVML's bit mask can hold; empty for what is no mask."""
    if not 0 <= mask < 1 << 64 or mask != int(mask):
        return []
    return [(name, float(bool(int(mask) & bit))) for bit, name in REASONS.items()]
