"""Names of metrics of Prometheus exporters: NVIDIA's DCGM exporter, AMD's, and node_exporter."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from traceq.errors import UnusableTrace
from traceq.importers.monitors.series import MIB, Meant, named, reasons

TOOL = "prometheus"

GAUGES = {
    "DCGM_FI_DEV_GPU_UTIL": Meant("gpu_utilization"),
    "DCGM_FI_DEV_MEM_COPY_UTIL": Meant("gpu_memory_utilization"),
    "DCGM_FI_DEV_POWER_USAGE": Meant("gpu_power"),
    "DCGM_FI_DEV_POWER_MGMT_LIMIT": Meant("gpu_power_limit"),
    "DCGM_FI_DEV_POWER_MGMT_LIMIT_MAX": Meant("gpu_power_limit_max"),
    "DCGM_FI_DEV_GPU_TEMP": Meant("gpu_temperature"),
    "DCGM_FI_DEV_MEMORY_TEMP": Meant("gpu_memory_temperature"),
    "DCGM_FI_DEV_SM_CLOCK": Meant("gpu_sm_clock"),
    "DCGM_FI_DEV_MAX_SM_CLOCK": Meant("gpu_sm_clock_max"),
    "DCGM_FI_DEV_MEM_CLOCK": Meant("gpu_memory_clock"),
    "DCGM_FI_DEV_MAX_MEM_CLOCK": Meant("gpu_memory_clock_max"),
    "DCGM_FI_DEV_FB_USED": Meant("gpu_memory_used", MIB),
    "DCGM_FI_DEV_FB_FREE": Meant("gpu_memory_free", MIB),
    "DCGM_FI_DEV_FB_TOTAL": Meant("gpu_memory_total", MIB),
    "node_load1": Meant("load_1"),
    "node_load5": Meant("load_5"),
    "node_load15": Meant("load_15"),
    "node_procs_running": Meant("run_queue"),
    "node_procs_blocked": Meant("blocked_threads"),
    "node_memory_MemFree_bytes": Meant("host_memory_free"),
    "node_memory_MemAvailable_bytes": Meant("host_memory_available"),
}
MASKS = {"DCGM_FI_DEV_CLOCK_THROTTLE_REASONS", "DCGM_FI_DEV_CLOCKS_EVENT_REASONS"}

# Totals since boot: what they grow by in a second, times the factor.
TOTALS = {
    "node_disk_io_time_seconds_total": Meant("disk_utilization", 100),
    "node_disk_read_bytes_total": Meant("disk_read"),
    "node_disk_written_bytes_total": Meant("disk_write"),
    "node_disk_reads_completed_total": Meant("disk_reads"),
    "node_disk_writes_completed_total": Meant("disk_writes"),
    "node_disk_io_time_weighted_seconds_total": Meant("disk_queue"),
    "node_network_receive_bytes_total": Meant("network_receive"),
    "node_network_transmit_bytes_total": Meant("network_send"),
    "node_context_switches_total": Meant("context_switches"),
    "node_pressure_cpu_waiting_seconds_total": Meant("cpu_pressure", 100),
    "node_pressure_io_waiting_seconds_total": Meant("io_pressure", 100),
    "node_pressure_memory_waiting_seconds_total": Meant("memory_pressure", 100),
    "DCGM_FI_DEV_POWER_VIOLATION": Meant("gpu_power_violation", 1e-7),
    "DCGM_FI_DEV_THERMAL_VIOLATION": Meant("gpu_thermal_violation", 1e-7),
}
_MODES = ("user", "nice", "system", "iowait", "steal", "idle")
CPU_TOTAL = "node_cpu_seconds_total"

# DCGM's words for "no value" are the largest numbers of a type.
_BLANK = 9.2e18

_INSTANCES = ("device", "cpu", "interface", "disk")


def gpu(labels: Mapping[str, str]) -> int | None:
    """Return the number of the GPU that a metric is of; None for the host."""
    told = labels.get("gpu", labels.get("gpu_id", ""))
    return int(told) if told.isdigit() else None


def instance(labels: Mapping[str, str]) -> str | None:
    """Return the part of the host that a metric is about: a disk, a network interface, a CPU."""
    return next((labels[each] for each in _INSTANCES if each in labels and labels[each] != "nvidia"), None)


def host(labels: Mapping[str, str]) -> str | None:
    """Return the name of the machine."""
    return labels.get("Hostname") or labels.get("nodename")


def address(labels: Mapping[str, str]) -> str | None:
    """Return where a series was scraped, without the port: exporters of one machine have one each."""
    return labels.get("instance", "").rpartition(":")[0] or None


def check_one(told: Iterable[str | None]) -> None:
    """Raise UnusableTrace for several machines, of which GPUs and disks have the same names."""
    found = sorted({each for each in told if each})
    if len(found) > 1:
        raise UnusableTrace(f"series of {len(found)} machines ({found[0]}, {found[1]}, ...); query those of one")


def values(name: str, value: float) -> list[tuple[str, str | None, float]]:
    """Return name, unit and value of the series of a gauge; none where DCGM says that there is no value."""
    if value >= _BLANK:
        return []
    if name in MASKS:
        return [(each, None, bit) for each, bit in reasons(int(value))]
    return [named(TOOL, name, None, value, GAUGES)]


def total(name: str, labels: Mapping[str, str]) -> Meant | None:
    """Return the meaning of a total's growth; None for other metrics and unknown totals."""
    if name == CPU_TOTAL:
        mode = labels.get("mode", "")
        return Meant(f"cpu_{mode}", 100) if mode in _MODES else None
    return TOTALS.get(name)
