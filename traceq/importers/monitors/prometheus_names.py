"""Names of metrics of Prometheus exporters: NVIDIA's DCGM exporter, AMD's, and node_exporter."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from traceq.errors import UnusableTrace
from traceq.importers.monitors.series import MIB, Meaning, decode_reasons, name_series

TOOL = "prometheus"

GAUGES = {
    "DCGM_FI_DEV_GPU_UTIL": Meaning("gpu_utilization"),
    "DCGM_FI_DEV_MEM_COPY_UTIL": Meaning("gpu_memory_utilization"), "DCGM_FI_DEV_POWER_USAGE": Meaning("gpu_power"),
    "DCGM_FI_DEV_POWER_MGMT_LIMIT": Meaning("gpu_power_limit"),
    "DCGM_FI_DEV_POWER_MGMT_LIMIT_MAX": Meaning("gpu_power_limit_max"),
    "DCGM_FI_DEV_GPU_TEMP": Meaning("gpu_temperature"),
    "DCGM_FI_DEV_MEMORY_TEMP": Meaning("gpu_memory_temperature"), "DCGM_FI_DEV_SM_CLOCK": Meaning("gpu_sm_clock"),
    "DCGM_FI_DEV_MAX_SM_CLOCK": Meaning("gpu_sm_clock_max"), "DCGM_FI_DEV_MEM_CLOCK": Meaning("gpu_memory_clock"),
    "DCGM_FI_DEV_MAX_MEM_CLOCK": Meaning("gpu_memory_clock_max"),
    "DCGM_FI_DEV_FB_USED": Meaning("gpu_memory_used", MIB), "DCGM_FI_DEV_FB_FREE": Meaning("gpu_memory_free", MIB),
    "DCGM_FI_DEV_FB_TOTAL": Meaning("gpu_memory_total", MIB), "node_load1": Meaning("load_1"),
    "node_load5": Meaning("load_5"), "node_load15": Meaning("load_15"), "node_procs_running": Meaning("run_queue"),
    "node_procs_blocked": Meaning("blocked_threads"), "node_memory_MemFree_bytes": Meaning("host_memory_free"),
    "node_memory_MemAvailable_bytes": Meaning("host_memory_available"),
}  # fmt: skip
MASKS = {"DCGM_FI_DEV_CLOCK_THROTTLE_REASONS", "DCGM_FI_DEV_CLOCKS_EVENT_REASONS"}

# Totals since boot: what they grow by in a second, times the factor.
TOTALS = {
    "node_disk_io_time_seconds_total": Meaning("disk_utilization", 100),
    "node_disk_read_bytes_total": Meaning("disk_read"), "node_disk_written_bytes_total": Meaning("disk_write"),
    "node_disk_reads_completed_total": Meaning("disk_reads"),
    "node_disk_writes_completed_total": Meaning("disk_writes"),
    "node_disk_io_time_weighted_seconds_total": Meaning("disk_queue"),
    "node_network_receive_bytes_total": Meaning("network_receive"),
    "node_network_transmit_bytes_total": Meaning("network_send"),
    "node_context_switches_total": Meaning("context_switches"),
    "node_pressure_cpu_waiting_seconds_total": Meaning("cpu_pressure", 100),
    "node_pressure_io_waiting_seconds_total": Meaning("io_pressure", 100),
    "node_pressure_memory_waiting_seconds_total": Meaning("memory_pressure", 100),
    "DCGM_FI_DEV_POWER_VIOLATION": Meaning("gpu_power_violation", 1e-7),
    "DCGM_FI_DEV_THERMAL_VIOLATION": Meaning("gpu_thermal_violation", 1e-7),
}  # fmt: skip
_MODES = ("user", "nice", "system", "iowait", "steal", "idle")
CPU_TOTAL = "node_cpu_seconds_total"

# DCGM's words for "no value" are numbers, in 32 bits, as double and in 64 bits; three more behind each say why.
_BLANKS = (0x7FFFFFF0, 1 << 47)
_BLANK = 9.2e18

_INSTANCES = ("device", "cpu", "interface", "disk")


def gpu_of(labels: Mapping[str, str]) -> int | None:
    """Return the number of the GPU in a metric's labels; None if they name none, as for a metric of the host."""
    told = labels.get("gpu", labels.get("gpu_id", ""))
    return int(told) if told.isdigit() else None


def instance_of(labels: Mapping[str, str]) -> str | None:
    """Return the disk, network interface or CPU in a metric's labels; None if they name none, as for the whole host."""
    return next((labels[label] for label in _INSTANCES if label in labels and labels[label] != "nvidia"), None)


def host_of(labels: Mapping[str, str]) -> str | None:
    """Return the name of the machine in a metric's labels; None if they name none."""
    return labels.get("Hostname") or labels.get("nodename")


def address_of(labels: Mapping[str, str]) -> str | None:
    """Return the address in a metric's `instance` label, without its port; None without one.

    Exporters of the same machine differ in the port only.
    """
    return labels.get("instance", "").rpartition(":")[0] or None


def check_one(told: Iterable[str | None]) -> None:
    """Raise UnusableTrace if `told` names several machines, because their GPUs and disks have the same names; None is ignored."""
    found = sorted({machine for machine in told if machine})
    if len(found) > 1:
        raise UnusableTrace(f"series of {len(found)} machines ({found[0]}, {found[1]}, ...); query one machine")


def convert_gauge(name: str, value: float) -> list[tuple[str, str | None, float]]:
    """Return (series, unit, value) for each series that a gauge `name` is; empty where DCGM's value means "missing".

    A mask of throttling reasons gives a series for each reason, another gauge one.
    """
    is_blank = name.startswith("DCGM_") and any(blank <= value <= blank + 3 for blank in _BLANKS)
    if value >= _BLANK or is_blank:
        return []
    if name in MASKS:
        return [(decode_reason, None, bit) for decode_reason, bit in decode_reasons(value)]
    return [name_series(TOOL, name, None, value, GAUGES)]


def meaning_of_total(name: str, labels: Mapping[str, str]) -> Meaning | None:
    """Return the series that the growth per second of the counter `name` is, with the factor to its unit; None if unknown.

    `labels` tell the mode (user, system, ...) of the counter of CPU seconds.
    """
    if name == CPU_TOTAL:
        mode = labels.get("mode", "")
        return Meaning(f"cpu_{mode}", 100) if mode in _MODES else None
    return TOTALS.get(name)
