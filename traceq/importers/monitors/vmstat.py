"""`vmstat -t`: a line a sample, its header repeated now and then. The first line is of the time since boot: it is left out."""

from __future__ import annotations

from traceq.importers.monitors.reading import Log, LogBuilder, parse_time
from traceq.importers.monitors.series import KIB, Meaning

TOOL = "vmstat"

_KNOWN = {
    "r": Meaning("run_queue"), "b": Meaning("blocked_threads"), "swpd": Meaning("swap_used", KIB),
    "free": Meaning("host_memory_free", KIB), "si": Meaning("swap_in", KIB), "so": Meaning("swap_out", KIB),
    "cs": Meaning("context_switches"), "us": Meaning("cpu_user"), "sy": Meaning("cpu_system"),
    "id": Meaning("cpu_idle"), "wa": Meaning("cpu_iowait"), "st": Meaning("cpu_steal"),
}  # fmt: skip
_FIRST = ["r", "b", "swpd"]


def sniff(head: str) -> bool:
    """Return whether one of the first three lines is vmstat's header."""
    return any(line.split()[:3] == _FIRST for line in head.splitlines()[:3])


def read(text: str) -> Log:
    """Return the log of the host in vmstat's lines, without the first sample; without -t its samples have no times.

    The clock is "utc" only if the header names UTC or GMT; other names of zones are shared by several.
    """
    names: list[str] = []
    rows = []
    zone = ""
    log = LogBuilder(TOOL, _KNOWN)
    for line in text.splitlines():
        words = line.split()
        if words[:3] == _FIRST:
            names = [each for each in words if each.islower()]
            zone = words[-1] if words[-1].isupper() else zone
        elif words and words[0].isdigit() and len(words) >= len(names):
            rows.append(words)
        else:
            log.left_out += bool(words) and not line.startswith(("procs", "--procs"))
    for words in rows[1:]:
        time = parse_time(" ".join(words[len(names) :]))
        log.times.append(None if time is None else (time[0], time[1] or zone in ("UTC", "GMT")))
        for name, word in zip(names, words, strict=False):
            log.add(time[0] if time else 0, None, None, name, word)
    log.left_out += len(names) if rows else 0
    return log.log()
