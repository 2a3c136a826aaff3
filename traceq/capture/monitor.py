"""Sample the machine while a program is recorded: a thread of `traceq record` samples it into a log beside the traces.

It takes psutil for the host and pynvml (nvidia-ml-py) for GPUs, both of the extra `monitor`; what is not there is not sampled.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import Any

SUFFIX = ".monitor.jsonl"

# Seconds between samples, at least.
_BEAT = 1.0

# Of one CPU; where a sample takes more than that of a beat, samples are further apart.
_MOST_COST = 0.003

# Device, instance, series (docs/monitors.md), value.
Value = tuple[int | None, str | None, str, float]
Source = Callable[[], list[Value]]


@contextmanager
def sample_machine(log: Path) -> Iterator[None]:
    """Sample the machine's load into the file `log` in a thread while the block runs; no file without psutil and NVML."""
    stopped = threading.Event()
    thread = threading.Thread(target=_run, args=(log, stopped), daemon=True, name="traceq-monitor")
    # The main thread waits for signals: this one must not get any.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    try:
        thread.start()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    try:
        yield
    finally:
        stopped.set()
        thread.join(timeout=2 * _BEAT)


def _run(log: Path, stopped: threading.Event) -> None:
    try:
        sources = [source for source in (_open_host(), _open_gpus()) if source is not None]
        if sources:
            with log.open("x", encoding="utf-8") as file:
                file.write(json.dumps({"traceq_monitor": 1, "cpus": os.cpu_count()}) + "\n")
                sample_until(stopped, sources, file.write)
    except Exception as error:  # noqa: BLE001 - a program is recorded for its trace: what goes wrong here must not matter to it
        reason = " ".join(str(error).split())
        sys.stderr.write(f"traceq: sampling of the machine stopped: {type(error).__name__}: {reason}\n")


def sample_until(stopped: threading.Event, sources: Sequence[Source], write: Callable[[str], Any]) -> None:
    """Write a line of JSON with the values of all sources about each second, until `stopped` is set.

    Beats are longer where a sample costs more than 0.3 % of a CPU. Rates need two samples, so they start with the
    second line.
    """
    due = time.monotonic()
    while not stopped.is_set():
        began = time.thread_time()
        values = [value for source in sources for value in source()]
        write(json.dumps({"ts": time.time_ns(), "values": values}, separators=(",", ":")) + "\n")
        due = max(due + _BEAT, time.monotonic() + (time.thread_time() - began) / _MOST_COST)
        stopped.wait(due - time.monotonic())


def _open_host() -> Source | None:
    """Return a function that samples the host's memory, load, disks, network and CPUs with psutil; None without psutil.

    A sample is (None, instance such as a disk or None, series, number); rates are since the sample before.
    """
    try:
        psutil = import_module("psutil")
    except ImportError:
        return None
    disks = _find_disks(psutil.disk_io_counters(perdisk=True))
    before: list[tuple[float, dict[tuple[str | None, str], float], Any]] = []

    def sample() -> list[Value]:
        now, totals, cpus = time.monotonic(), _sample_totals(psutil, disks), psutil.cpu_times()
        found = _sample_levels(psutil)
        if before:
            then, totals_then, cpus_then = before.pop()
            found += _make_rates(totals_then, totals, now - then) + _make_cpu_shares(cpus_then, cpus)
        before.append((now, totals, cpus))
        return found

    return sample


def _sample_levels(psutil: Any) -> list[Value]:
    memory, swap = psutil.virtual_memory(), psutil.swap_memory()
    found: list[Value] = [
        (None, None, "host_memory_available", memory.available),
        (None, None, "host_memory_used", memory.used),
        (None, None, "swap_used", swap.used),
        (None, None, "load_1", psutil.getloadavg()[0]),
    ]
    names = {"procs_running": "run_queue", "procs_blocked": "blocked_threads"}
    for line in _read_lines("/proc/stat"):
        name, _, value = line.partition(" ")
        if name in names:
            # The thread that asks is one of those that run.
            found.append((None, None, names[name], int(value) - (name == "procs_running")))
    return found


def _sample_totals(psutil: Any, disks: Sequence[str]) -> dict[tuple[str | None, str], float]:
    """Return totals since boot by (instance, series): bytes, operations, or for shares the hundredths of seconds they took.

    The growth per second of a total is the value of its series. The instance is a disk, a network interface, or
    None.
    """
    swap = psutil.swap_memory()
    found: dict[tuple[str | None, str], float] = {(None, "swap_in"): swap.sin, (None, "swap_out"): swap.sout}
    counters = psutil.disk_io_counters(perdisk=True) if disks else {}
    for disk in disks:
        count = counters.get(disk)
        if count is not None:
            found |= {
                (disk, "disk_read"): count.read_bytes,
                (disk, "disk_write"): count.write_bytes,
                (disk, "disk_reads"): count.read_count,
                (disk, "disk_writes"): count.write_count,
            }
            if hasattr(count, "busy_time"):
                # of ms in a second to per cent
                found[disk, "disk_utilization"] = count.busy_time / 10
    for line in _read_lines("/proc/diskstats"):
        words = line.split()
        if words[2] in disks:
            # the last of eleven: ms, times the requests that were under way
            found[words[2], "disk_queue"] = int(words[13]) / 1000
    for interface, traffic in psutil.net_io_counters(pernic=True).items():
        found[interface, "network_receive"] = traffic.bytes_recv
        found[interface, "network_send"] = traffic.bytes_sent
    for resource in ("cpu", "io", "memory"):
        for line in _read_lines(f"/proc/pressure/{resource}")[:1]:
            # of us in a second to per cent
            found[None, f"{resource}_pressure"] = int(line.rpartition("=")[2]) / 10_000
    return found


def _make_rates(
    before: dict[tuple[str | None, str], float], after: dict[tuple[str | None, str], float], seconds: float
) -> list[Value]:
    return [
        (None, instance, name, round((total - before[instance, name]) / seconds, 4))
        for (instance, name), total in after.items()
        if (instance, name) in before and total >= before[instance, name]
    ]


def _make_cpu_shares(before: Any, after: Any) -> list[Value]:
    """Return the shares (0..100 %) of all CPUs' time between two readings of psutil, as series cpu_user, cpu_idle and so on."""
    spent = {name: max(0.0, getattr(after, name) - getattr(before, name)) for name in after._fields}
    # Time of guests is in that of programs already.
    total = sum(value for name, value in spent.items() if not name.startswith("guest"))
    kinds = ("user", "nice", "system", "iowait", "steal", "idle")
    return [
        (None, None, f"cpu_{kind}", round(100 * spent[kind] / total, 2)) for kind in kinds if kind in spent and total
    ]


def _find_disks(counters: Any) -> list[str]:
    """Return the names of whole disks in psutil's counters, without partitions, loop devices and RAM disks."""
    return [
        name
        for name in counters or {}
        if not name.startswith(("loop", "ram", "zram"))
        and (not Path("/sys/block").is_dir() or Path("/sys/block", name).exists())
    ]


def _read_lines(path: str) -> list[str]:
    try:
        return Path(path).read_text(encoding="utf-8").splitlines()
    except OSError:
        return []


def _open_gpus() -> Source | None:
    """Return a function that samples the GPUs visible to the program, under the program's numbers; None without NVML or a GPU."""
    try:
        nvml = import_module("pynvml")
        nvml.nvmlInit()
    except Exception:  # noqa: BLE001 - NVML has an error class for each of its codes
        return None
    handles = list(enumerate(visible_handles(nvml)))

    def sample() -> list[Value]:
        return [(device, None, *value) for device, handle in handles for value in _sample_gpu(nvml, handle)]

    return sample if handles else None


def visible_handles(nvml: Any) -> list[Any]:
    """Return NVML's handles of the GPUs that the program may use, in the order of the program's own numbers.

    Those are the GPUs in CUDA_VISIBLE_DEVICES, or all where it is not set.
    """
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    if visible is None:
        return [nvml.nvmlDeviceGetHandleByIndex(index) for index in range(nvml.nvmlDeviceGetCount())]
    names = [name.strip() for name in visible.split(",") if name.strip()]
    return [
        nvml.nvmlDeviceGetHandleByIndex(int(name)) if name.isdigit() else nvml.nvmlDeviceGetHandleByUUID(name)
        for name in names
    ]


def _sample_gpu(nvml: Any, handle: Any) -> Iterator[tuple[str, float]]:
    """Yield (series, value) for a GPU: use (%), power (W), temperature (C), clocks (MHz), memory (bytes), throttling (0 or 1).

    Values that the GPU does not report are left out.
    """
    reasons = (
        getattr(nvml, "nvmlDeviceGetCurrentClocksEventReasons", None) or nvml.nvmlDeviceGetCurrentClocksThrottleReasons
    )
    asked: tuple[Callable[[], list[tuple[str, float]]], ...] = (
        lambda: [("gpu_utilization", nvml.nvmlDeviceGetUtilizationRates(handle).gpu)],
        lambda: [("gpu_power", nvml.nvmlDeviceGetPowerUsage(handle) / 1000)],
        lambda: [("gpu_power_limit", nvml.nvmlDeviceGetEnforcedPowerLimit(handle) / 1000)],
        lambda: [("gpu_power_limit_max", nvml.nvmlDeviceGetPowerManagementLimitConstraints(handle)[1] / 1000)],
        lambda: [("gpu_temperature", nvml.nvmlDeviceGetTemperature(handle, nvml.NVML_TEMPERATURE_GPU))],
        lambda: [("gpu_sm_clock", nvml.nvmlDeviceGetClockInfo(handle, nvml.NVML_CLOCK_SM))],
        lambda: [("gpu_sm_clock_max", nvml.nvmlDeviceGetMaxClockInfo(handle, nvml.NVML_CLOCK_SM))],
        lambda: [("gpu_memory_used", nvml.nvmlDeviceGetMemoryInfo(handle).used)],
        lambda: _decode_reasons(reasons(handle)),
    )
    for ask in asked:
        with suppress(nvml.NVMLError):
            yield from ask()


# Bits of NVML's mask (nvmlClocksEventReasons).
_REASONS = (
    "idle", "clock_setting", "power_cap", "hw_slowdown", "sync_boost", "thermal_sw", "thermal_hw", "power_brake",
)  # fmt: skip


def _decode_reasons(mask: int) -> list[tuple[str, float]]:
    return [(f"gpu_throttle_{name}", mask >> bit & 1) for bit, name in enumerate(_REASONS)]
