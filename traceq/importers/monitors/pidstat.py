"""`pidstat -h -u -r -d`: a line a process and sample, with the time of day; the date is in the first line."""

from __future__ import annotations

import re

from traceq.importers.monitors.reading import DAY, Clock, Log, LogBuilder, parse_dates, parse_time, parse_time_of_day
from traceq.importers.monitors.series import KIB, Meaning

TOOL = "pidstat"

_KNOWN = {
    "%CPU": Meaning("process_cpu"), "%wait": Meaning("process_wait"), "RSS": Meaning("process_memory", KIB),
    "kB_rd/s": Meaning("process_read", KIB), "kB_wr/s": Meaning("process_write", KIB),
    "majflt/s": Meaning("process_major_faults"),
}  # fmt: skip
_NOT_VALUES = {"Time", "UID", "PID", "TGID", "TID", "CPU"}
_FIRST = re.compile(r"Linux\s+\S+\s+\((?P<host>[^)]*)\)\s+(?P<date>\S+)\s+\S+\s+\((?P<cpus>\d+) CPU\)")
_HEADER = re.compile(r"^#?\s*Time\s+.*\b(PID|TID)\b.*Command\s*$", re.MULTILINE)


def sniff(head: str) -> bool:
    """Return whether a line of the text is pidstat's header, with the columns of a process."""
    return bool(_HEADER.search(head))


def read(text: str) -> Log:
    """Return the log of all processes in pidstat's lines; each sample's instance is "PID COMMAND".

    Times of day follow on from the date in the first line, over midnight, too. The clock is "utc" for seconds since
    1970, else "none" without a date.
    """
    told = _FIRST.search(text)
    days = parse_dates(told["date"]) if told else []
    names: list[str] = []
    log = LogBuilder(TOOL, _KNOWN)
    last, over, is_epoch = -1, 0, False
    for line in text.splitlines():
        words = line.lstrip("# ").split()
        if _HEADER.match(line):
            names = words
            continue
        half = 1 if len(words) > 1 and words[1] in ("AM", "PM") else 0
        epoch = parse_time(words[0]) if words else None
        time = epoch[0] if epoch else parse_time_of_day(" ".join(words[: 1 + half])) if words else None
        if time is None or len(words) - half < len(names):
            log.left_out += bool(words) and not _FIRST.search(line)
            continue
        is_epoch |= epoch is not None
        over += DAY if time < last else 0
        last = time
        cells = dict(zip(names, words[:1] + words[1 + half :], strict=False))
        command = " ".join(words[len(names) - 1 + half :])
        instance = f"{cells.get('PID') or cells.get('TGID') or cells.get('TID')} {command}"
        at = time if epoch else (days[0] if days else 0) + over + time
        for name in names[:-1]:
            if name not in _NOT_VALUES:
                log.add(at, None, instance, name, cells[name])
    log.add_cpu_count(told and told["cpus"])
    other = days[-1] - days[0] if days and not is_epoch else 0
    clock: Clock = "utc" if is_epoch else "local" if days else "none"
    return log.log(clock, told and told["host"], other)
