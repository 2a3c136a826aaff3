"""`vmstat -t`: a line a sample, its header repeated now and then. The first line is of the time since boot: it is left out."""

from __future__ import annotations

from traceq.importers.monitors.log import Log, Sample
from traceq.importers.monitors.reading import clock_of, number, stamp
from traceq.importers.monitors.series import KIB, Meant, named

TOOL = "vmstat"

_KNOWN = {
    "r": Meant("run_queue"),
    "b": Meant("blocked_threads"),
    "swpd": Meant("swap_used", KIB),
    "free": Meant("host_memory_free", KIB),
    "si": Meant("swap_in", KIB),
    "so": Meant("swap_out", KIB),
    "cs": Meant("context_switches"),
    "us": Meant("cpu_user"),
    "sy": Meant("cpu_system"),
    "id": Meant("cpu_idle"),
    "wa": Meant("cpu_iowait"),
    "st": Meant("cpu_steal"),
}
_FIRST = ["r", "b", "swpd"]


def sniff(head: str) -> bool:
    """Return whether one of the first lines is the header."""
    return any(line.split()[:3] == _FIRST for line in head.splitlines()[:3])


def read(text: str) -> Log:
    """Return the log; without -t it has no times. The header says UTC, or a zone whose name several share."""
    names: list[str] = []
    rows = []
    zone, left_out = "", 0
    for line in text.splitlines():
        words = line.split()
        if words[:3] == _FIRST:
            names = [each for each in words if each.islower()]
            zone = words[-1] if words[-1].isupper() else zone
        elif words and words[0].isdigit() and len(words) >= len(names):
            rows.append(words)
        else:
            left_out += bool(words) and not line.startswith(("procs", "--procs"))
    samples: list[Sample] = []
    stamps: list[tuple[int, bool] | None] = []
    for words in rows[1:]:
        time = stamp(" ".join(words[len(names) :]))
        stamps.append(None if time is None else (time[0], time[1] or zone in ("UTC", "GMT")))
        for name, word in zip(names, words, strict=False):
            value = number(word)
            if value is None:
                left_out += 1
            else:
                samples.append(Sample(time[0] if time else 0, None, None, *named(TOOL, name, None, value, _KNOWN)))
    left_out += sum(len(names) for _ in rows[:1])
    return Log(TOOL, samples, clock_of(stamps), None, 0, left_out)
