"""`iostat -x -t -o JSON`: CPUs and disks, each report the mean of the time since the one before.

The first report is of the time since boot unless iostat ran with -y, which the file does not say: it is left out.
"""

from __future__ import annotations

import re

from traceq.importers.monitors.reading import Log, LogBuilder, host_of_sysstat, parse_local_time
from traceq.importers.monitors.series import KIB, MIB, Meaning

TOOL = "iostat"

_CPU = {mode: Meaning(f"cpu_{mode}") for mode in ("user", "nice", "system", "iowait", "steal", "idle")}
_DISK = {
    "util": Meaning("disk_utilization"), "aqu-sz": Meaning("disk_queue"), "r/s": Meaning("disk_reads"),
    "w/s": Meaning("disk_writes"), "rkB/s": Meaning("disk_read", KIB), "wkB/s": Meaning("disk_write", KIB),
    "rMB/s": Meaning("disk_read", MIB), "wMB/s": Meaning("disk_write", MIB), "kB_read/s": Meaning("disk_read", KIB),
    "kB_wrtn/s": Meaning("disk_write", KIB), "r_await": Meaning("disk_read_wait"),
    "w_await": Meaning("disk_write_wait"),
}  # fmt: skip


def sniff(head: str) -> bool:
    """Return whether the text begins JSON of sysstat with reports of iostat."""
    return bool(re.match(r'\s*\{\s*"sysstat"', head) and re.search(r'"(avg-cpu|disk_device)"', head))


def read(text: str) -> Log:
    """Return the log of the CPUs and disks in iostat's JSON, without its first report; without -t its samples have no times.

    Raises UnusableTrace where it has no reports at all.
    """
    host = host_of_sysstat(text)
    reports = host["statistics"]
    log = LogBuilder(TOOL, _CPU | _DISK)
    times = [parse_local_time(report.get("timestamp", "")) for report in reports]
    has_times = bool(times) and all(time is not None for time in times)
    for report in reports[:1]:
        log.left_out += len(report.get("avg-cpu", {})) + sum(len(disk) - 1 for disk in report.get("disk", []))
    for report, time in zip(reports[1:], times[1:], strict=True):
        at = time[0] if time and has_times else 0
        for key, value in report.get("avg-cpu", {}).items():
            log.add(at, None, None, key, value)
        for disk in report.get("disk", []):
            for key, value in disk.items():
                if key != "disk_device":
                    log.add(at, None, disk.get("disk_device"), key, value)
    log.add_cpu_count(host.get("number-of-cpus"))
    log.times = [time and (time[0], time[2]) for time in times]
    other = next((time[1] for time in times if time), 0)
    odd = (str(report.get("timestamp", "")) for report, time in zip(reports, times, strict=True) if time is None)
    return log.log(None, host.get("nodename"), other, next(odd, ""))
