"""`sadf -j` of sar's recordings: JSON of many activities, each the mean of an interval or its state at the end."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from traceq.importers.monitors.log import Log, Sample
from traceq.importers.monitors.reading import host_of_sysstat, local_stamp, number
from traceq.importers.monitors.series import KIB, Meant, named

TOOL = "sar"

_KNOWN = {
    "cpu-load.user": Meant("cpu_user"),
    "cpu-load.usr": Meant("cpu_user"),
    "cpu-load.nice": Meant("cpu_nice"),
    "cpu-load.system": Meant("cpu_system"),
    "cpu-load.sys": Meant("cpu_system"),
    "cpu-load.iowait": Meant("cpu_iowait"),
    "cpu-load.steal": Meant("cpu_steal"),
    "cpu-load.idle": Meant("cpu_idle"),
    "queue.runq-sz": Meant("run_queue"),
    "queue.blocked": Meant("blocked_threads"),
    "queue.ldavg-1": Meant("load_1"),
    "queue.ldavg-5": Meant("load_5"),
    "queue.ldavg-15": Meant("load_15"),
    "process-and-context-switch.cswch": Meant("context_switches"),
    "memory.memfree": Meant("host_memory_free", KIB),
    "memory.avail": Meant("host_memory_available", KIB),
    "memory.memused": Meant("host_memory_used", KIB),
    "memory.swpused": Meant("swap_used", KIB),
    "disk.util-percent": Meant("disk_utilization"),
    "disk.aqu-sz": Meant("disk_queue"),
    "disk.rkB": Meant("disk_read", KIB),
    "disk.wkB": Meant("disk_write", KIB),
    "network.net-dev.rxkB": Meant("network_receive", KIB),
    "network.net-dev.txkB": Meant("network_send", KIB),
    "psi.psi-cpu.some": Meant("cpu_pressure"),
    "psi.psi-io.some": Meant("io_pressure"),
    "psi.psi-mem.some": Meant("memory_pressure"),
}
# Pages are of 4 KiB on this architecture; elsewhere they may be larger, and nothing in the file says so.
_PAGES = {"swap-pages.pswpin": Meant("swap_in", 4 * KIB), "swap-pages.pswpout": Meant("swap_out", 4 * KIB)}

# Members that say what a row is of.
_INSTANCES = ("cpu", "disk-device", "iface", "intr", "number", "tty", "line", "filesystem", "fchost", "iqn", "device")


def sniff(head: str) -> bool:
    """Return whether it is JSON of sysstat, and not of iostat."""
    return bool(re.match(r'\s*\{\s*"sysstat"', head)) and not re.search(r'"(avg-cpu|disk_device)"', head)


def read(text: str) -> Log:
    """Return the log; local times (sadf -t) are of a zone that is certain only where it is UTC."""
    host = host_of_sysstat(text)
    known = _KNOWN | (_PAGES if host.get("machine") in ("x86_64", "i686") else {})
    samples: list[Sample] = []
    is_utc, other, left_out = True, 0, 0
    for report in host["statistics"]:
        told = report.get("timestamp")
        time = local_stamp(f"{told['date']} {told['time']}") if told else None
        if time is None:
            left_out += 1
            continue
        is_utc &= told.get("utc") == 1 or host.get("timezone") == "UTC"
        other = other or time[1]
        for key, value in report.items():
            if key == "timestamp":
                continue
            for instance, path, raw in _leaves(value, key, None):
                found = number(raw)
                if found is None:
                    left_out += 1
                else:
                    samples.append(Sample(time[0], None, instance, *named(TOOL, path, None, found, known)))
    cpus = number(host.get("number-of-cpus"))
    if cpus and samples:
        samples.append(Sample(samples[0].ts, None, None, "cpu_count", None, cpus))
    return Log(TOOL, samples, "utc" if is_utc else "local", host.get("nodename"), other, left_out)


def _leaves(value: Any, path: str, instance: str | None) -> Iterator[tuple[str | None, str, Any]]:
    """(instance, path, value) of all that stands in a report."""
    if isinstance(value, list):
        for each in value:
            yield from _leaves(each, path, instance)
    elif isinstance(value, dict):
        told = next((str(value[each]) for each in _INSTANCES if isinstance(value.get(each), str | int)), instance)
        for key, each in value.items():
            if key not in _INSTANCES:
                yield from _leaves(each, f"{path}.{key}", None if told == "all" else told)
    else:
        yield instance, path, value
