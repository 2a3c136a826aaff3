"""`sadf -j` of sar's recordings: JSON of many activities, each the mean of an interval or its state at the end."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from traceq.importers.monitors.reading import Log, LogBuilder, host_of_sysstat, parse_local_time
from traceq.importers.monitors.series import KIB, Meaning

TOOL = "sar"

_KNOWN = {
    "cpu-load.user": Meaning("cpu_user"), "cpu-load.usr": Meaning("cpu_user"), "cpu-load.nice": Meaning("cpu_nice"),
    "cpu-load.system": Meaning("cpu_system"), "cpu-load.sys": Meaning("cpu_system"),
    "cpu-load.iowait": Meaning("cpu_iowait"), "cpu-load.steal": Meaning("cpu_steal"),
    "cpu-load.idle": Meaning("cpu_idle"), "queue.runq-sz": Meaning("run_queue"),
    "queue.blocked": Meaning("blocked_threads"), "queue.ldavg-1": Meaning("load_1"),
    "queue.ldavg-5": Meaning("load_5"), "queue.ldavg-15": Meaning("load_15"),
    "process-and-context-switch.cswch": Meaning("context_switches"),
    "memory.memfree": Meaning("host_memory_free", KIB), "memory.avail": Meaning("host_memory_available", KIB),
    "memory.memused": Meaning("host_memory_used", KIB), "memory.swpused": Meaning("swap_used", KIB),
    "disk.util-percent": Meaning("disk_utilization"), "disk.aqu-sz": Meaning("disk_queue"),
    "disk.rkB": Meaning("disk_read", KIB), "disk.wkB": Meaning("disk_write", KIB),
    "network.net-dev.rxkB": Meaning("network_receive", KIB), "network.net-dev.txkB": Meaning("network_send", KIB),
    "psi.psi-cpu.some": Meaning("cpu_pressure"), "psi.psi-io.some": Meaning("io_pressure"),
    "psi.psi-mem.some": Meaning("memory_pressure"),
}  # fmt: skip
# Pages are of 4 KiB on this architecture; elsewhere they may be larger, and nothing in the file says so.
_PAGES = {"swap-pages.pswpin": Meaning("swap_in", 4 * KIB), "swap-pages.pswpout": Meaning("swap_out", 4 * KIB)}

# Members that say what a row is of.
_INSTANCES = ("cpu", "disk-device", "iface", "intr", "number", "tty", "line", "filesystem", "fchost", "iqn", "device")


def sniff(head: str) -> bool:
    """Return whether the text begins JSON of sysstat that is not iostat's."""
    return bool(re.match(r'\s*\{\s*"sysstat"', head)) and not re.search(r'"(avg-cpu|disk_device)"', head)


def read(text: str) -> Log:
    """Return the log of all activities in sadf's JSON; its clock is "local" unless all times are in UTC.

    Raises UnusableTrace where it has no reports.
    """
    host = host_of_sysstat(text)
    log = LogBuilder(TOOL, _KNOWN | (_PAGES if host.get("machine") in ("x86_64", "i686") else {}))
    is_utc, other = True, 0
    for report in host["statistics"]:
        told = report.get("timestamp")
        time = parse_local_time(f"{told['date']} {told['time']}") if told else None
        if time is None:
            log.left_out += 1
            continue
        is_utc &= told.get("utc") == 1 or host.get("timezone") == "UTC"
        other = other or time[1]
        for key, value in report.items():
            for instance, path, raw in _walk_report(value, key, None) if key != "timestamp" else ():
                log.add(time[0], None, instance, path, raw)
    log.add_cpu_count(host.get("number-of-cpus"))
    return log.log("utc" if is_utc else "local", host.get("nodename"), other)


def _walk_report(value: Any, path: str, instance: str | None) -> Iterator[tuple[str | None, str, Any]]:
    """Yield (instance, path, value) of every value in a part of a report; `path` and `instance` are those of this part.

    The path joins the keys by dots (cpu-load.user). The instance is a disk, CPU, network interface, ...; None for the
    whole host.
    """
    if isinstance(value, list):
        for part in value:
            yield from _walk_report(part, path, instance)
    elif isinstance(value, dict):
        told = next((str(value[member]) for member in _INSTANCES if isinstance(value.get(member), str | int)), instance)
        for key, each in value.items():
            if key not in _INSTANCES:
                yield from _walk_report(each, f"{path}.{key}", None if told == "all" else told)
    else:
        yield instance, path, value
