"""`pidstat -h -u -r -d`: a line a process and sample, with the time of day; the date is in the first line."""

from __future__ import annotations

import re

from traceq.importers.monitors.log import Clock, Log, Sample
from traceq.importers.monitors.reading import DAY, dates, number, stamp, time_of_day
from traceq.importers.monitors.series import KIB, Meant, named

TOOL = "pidstat"

_KNOWN = {
    "%CPU": Meant("process_cpu"),
    "%wait": Meant("process_wait"),
    "RSS": Meant("process_memory", KIB),
    "kB_rd/s": Meant("process_read", KIB),
    "kB_wr/s": Meant("process_write", KIB),
    "majflt/s": Meant("process_major_faults"),
}
_NOT_VALUES = {"Time", "UID", "PID", "TGID", "TID", "CPU"}
_FIRST = re.compile(r"Linux\s+\S+\s+\((?P<host>[^)]*)\)\s+(?P<date>\S+)\s+\S+\s+\((?P<cpus>\d+) CPU\)")
_HEADER = re.compile(r"^#?\s*Time\s+.*\b(PID|TID)\b.*Command\s*$", re.MULTILINE)


def sniff(head: str) -> bool:
    """Return whether a line names a process's columns."""
    return bool(_HEADER.search(head))


def read(text: str) -> Log:
    """Return the log of all processes; an instance is the pid and the command."""
    told = _FIRST.search(text)
    days = dates(told["date"]) if told else []
    names: list[str] = []
    samples: list[Sample] = []
    left_out, last, over, is_epoch = 0, -1, 0, False
    for line in text.splitlines():
        words = line.lstrip("# ").split()
        if _HEADER.match(line):
            names = words
            continue
        half = 1 if len(words) > 1 and words[1] in ("AM", "PM") else 0
        epoch = stamp(words[0]) if words else None
        time = epoch[0] if epoch else time_of_day(" ".join(words[: 1 + half])) if words else None
        if time is None or len(words) - half < len(names):
            left_out += bool(words) and not _FIRST.search(line)
            continue
        is_epoch |= epoch is not None
        over += DAY if time < last else 0
        last = time
        cells = dict(zip(names, words[:1] + words[1 + half :], strict=False))
        command = " ".join(words[len(names) - 1 + half :])
        instance = f"{cells.get('PID') or cells.get('TGID') or cells.get('TID')} {command}"
        for name in names[:-1]:
            if name in _NOT_VALUES:
                continue
            value = number(cells[name])
            if value is None:
                left_out += 1
            else:
                at = time if epoch else (days[0] if days else 0) + over + time
                samples.append(Sample(at, None, instance, *named(TOOL, name, None, value, _KNOWN)))
    if told and samples:
        samples.append(Sample(samples[0].ts, None, None, "cpu_count", None, float(told["cpus"])))
    other = days[-1] - days[0] if days and not is_epoch else 0
    clock: Clock = "utc" if is_epoch else "local" if days else "none"
    return Log(TOOL, samples, clock, told and told["host"], other, left_out)
