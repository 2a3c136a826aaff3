"""`iostat -x -t -o JSON`: CPUs and disks, each report the mean of the time since the one before.

The first report is of the time since boot unless iostat ran with -y, which the file does not say: it is left out.
"""

from __future__ import annotations

import re
from typing import Any

from traceq.importers.monitors.log import Log, Sample
from traceq.importers.monitors.reading import clock_of, host_of_sysstat, local_stamp, number
from traceq.importers.monitors.series import KIB, MIB, Meant, named

TOOL = "iostat"

_CPU = {each: Meant(f"cpu_{each}") for each in ("user", "nice", "system", "iowait", "steal", "idle")}
_DISK = {
    "util": Meant("disk_utilization"),
    "aqu-sz": Meant("disk_queue"),
    "r/s": Meant("disk_reads"),
    "w/s": Meant("disk_writes"),
    "rkB/s": Meant("disk_read", KIB),
    "wkB/s": Meant("disk_write", KIB),
    "rMB/s": Meant("disk_read", MIB),
    "wMB/s": Meant("disk_write", MIB),
    "kB_read/s": Meant("disk_read", KIB),
    "kB_wrtn/s": Meant("disk_write", KIB),
    "r_await": Meant("disk_read_wait"),
    "w_await": Meant("disk_write_wait"),
}


def sniff(head: str) -> bool:
    """Return whether it is JSON of sysstat with reports of iostat."""
    return bool(re.match(r'\s*\{\s*"sysstat"', head) and re.search(r'"(avg-cpu|disk_device)"', head))


def read(text: str) -> Log:
    """Return the log; without -t it has no times."""
    host = host_of_sysstat(text)
    reports = host["statistics"]
    samples: list[Sample] = []
    stamps = [local_stamp(each.get("timestamp", "")) for each in reports]
    has_times = bool(stamps) and all(each is not None for each in stamps)
    left_out = sum(_count(each) for each in reports[:1])
    for report, time in zip(reports[1:], stamps[1:], strict=True):
        at = time[0] if time and has_times else 0
        for key, value in report.get("avg-cpu", {}).items():
            left_out += _add(samples, at, None, key, value, _CPU)
        for disk in report.get("disk", []):
            name = disk.get("disk_device")
            for key, value in disk.items():
                if key != "disk_device":
                    left_out += _add(samples, at, name, key, value, _DISK)
    cpus = number(host.get("number-of-cpus"))
    if cpus and samples:
        samples.append(Sample(samples[0].ts, None, None, "cpu_count", None, cpus))
    clock = clock_of(each and (each[0], each[2]) for each in stamps)
    other = next((each[1] for each in stamps if each), 0)
    odd = next((str(each.get("timestamp", "")) for each, time in zip(reports, stamps, strict=True) if time is None), "")
    return Log(TOOL, samples, clock, host.get("nodename"), other, left_out, odd)


def _count(report: dict[str, Any]) -> int:
    return len(report.get("avg-cpu", {})) + sum(len(each) - 1 for each in report.get("disk", []))


def _add(samples: list[Sample], at: int, instance: str | None, key: str, raw: object, known: dict[str, Meant]) -> int:
    """Add the sample; 1 where it is no number."""
    value = number(raw)
    if value is None:
        return 1
    samples.append(Sample(at, None, instance, *named(TOOL, key, None, value, known)))
    return 0
