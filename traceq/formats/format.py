"""The record of a format: the profiler that writes it, and which of its options brings which input."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import msgspec

# Options of a profiler by name, each with the values it is given.
Options = Mapping[str, tuple[str, ...]]


class Capture(msgspec.Struct, frozen=True):
    """The options that record a metric; `note` says what else matters."""

    options: Options
    note: str = ""


class Format(msgspec.Struct, frozen=True):
    """Capabilities of one trace format. A format that traceq does not know has a name only, and gets general hints."""

    name: str
    """As in the column trace.format."""
    profiler: str = "the profiler"
    is_recorded: bool = True
    """Whether a profiler writes it, which can be told what to record."""
    has_times: bool = True
    """Whether it tells how long work takes. Else only rules on allocations are asked."""
    suffixes: tuple[str, ...] = ()
    """Endings of its files' names."""
    captures: Mapping[str, Capture | str] = msgspec.field(default_factory=dict)
    """By metric of METRICS: the options that record it, or the reason why the profiler cannot."""
    ways: Mapping[str, str] = msgspec.field(default_factory=dict)
    """By input: the words for what records it, empty where the profiler cannot.

    The names are those of diagnosis.needs.NEEDS, and some that one rule uses.
    """
    elsewhere: Mapping[str, str | None] = msgspec.field(default_factory=dict)
    """The same for programs that are not PyTorch's, where `ways` speak of PyTorch; None where it is not known."""
    on_amd: Mapping[str, str | None] = msgspec.field(default_factory=dict)
    """The same for GPUs of AMD, where `ways` speak of NVIDIA's tools."""
    call: str = "{}"
    """How the profiler is called, with {} for its options."""
    spelled: Callable[[Options], str] = str
    """The options as they stand in the call."""
    commands: Callable[[Options], str] = str
    """What a user pastes to capture a trace with these options, from the first line to the file that traceq reads."""
    only_pytorch: bool = False
    """Whether its profiler is PyTorch's: it records no other program."""
    only_nvidia: bool = False
    """Whether its profiler records no GPUs of AMD."""
    beside: tuple[str, ...] = ()
    """Formats whose profilers can record the same program, where its own cannot."""
    costly_settings: tuple[str, ...] = ()
    """Settings that lengthen every call on the host, and that the profiler writes into the trace only where they are on."""

    def can_record(self, *, of_pytorch: bool, of_amd: bool) -> bool:
        """Return whether the format's profiler can record such a program; `of_amd`: one on GPUs of AMD."""
        return (of_pytorch or not self.only_pytorch) and not (of_amd and self.only_nvidia)

    def way(self, name: str, *, of_pytorch: bool = True, of_amd: bool = False) -> str | None:
        """Return words on the option that records the input `name` for such a program.

        They are empty where the profiler cannot record it; None where that is unknown.
        """
        others = [ways for ways, holds in ((self.elsewhere, not of_pytorch), (self.on_amd, of_amd)) if holds]
        found = [other[name] for other in others if name in other]
        if len(found) > 1:
            return None
        return found[0] if found else self.ways.get(name)


def merge_records(captures: Iterable[Capture]) -> Options:
    """Return the options of all captures merged: each option once, with all of its values, in order of first appearance."""
    together: dict[str, dict[str, None]] = {}
    for capture in captures:
        for option, values in capture.options.items():
            together.setdefault(option, {}).update(dict.fromkeys(values))
    return {option: tuple(values) for option, values in together.items()}


_GPU = "a log of nvidia-smi, DCGM or amd-smi (traceq ingest TRACE --with gpu.csv, docs/monitors.md)"
_HOST = "a log of {} (traceq ingest TRACE --with LOG, docs/monitors.md)"

MONITOR_WAYS = {
    "gpu_clocks": _GPU,
    "throttle_reasons": _GPU,
    "disk_samples": _HOST.format("iostat -x or sar"),
    "cpu_samples_logged": _HOST.format("vmstat or sar"),
    "steal": _HOST.format("vmstat or sar"),
    "cpu_count": _HOST.format("iostat or sar, which say it,"),
    "swap_samples": _HOST.format("vmstat or sar"),
}
