"""The answer of doctor for a terminal: plain text, at most 100 columns, no escape codes."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence

from traceq.common.text import printable, width
from traceq.common.units import some
from traceq.health.diagnosis import TraceHealth
from traceq.health.identities import IdentityCheck
from traceq.health.verdict import STATES
from traceq.sharing.secrets import ANONYMISED, FoundSecrets

_WIDTH = 100
_INDENT = "  "

# Formats of traces that traceq records itself.
_RECORDED = ("chrome", "nsys")


def health_to_text(traces: Sequence[TraceHealth], secrets: Mapping[str, Sequence[FoundSecrets]] | None = None) -> str:
    """Return a text on each trace: its file, which metrics it can give, what would give more, and its checks.

    `secrets` has the secrets found in each file, by its path.
    """
    if not traces:
        return "The database has no trace.\n"
    found = secrets or {}
    return "\n\n".join("\n".join(_describe_trace(trace, found.get(trace.path, ()))) for trace in traces) + "\n"


def _describe_trace(trace: TraceHealth, secrets: Sequence[FoundSecrets]) -> Iterator[str]:
    title = printable(trace.path)
    yield title
    yield "=" * min(width(title), _WIDTH)
    yield from _wrap_text(printable(", ".join(_list_facts(trace))))
    yield from _list_lost(trace)
    for log in trace.logs:
        yield from _wrap_text(printable(f"{'' if log.kept else '! '}{log.text}."), others=_INDENT)
    yield from _list_made_with(trace)
    yield ""
    by_state = sorted(trace.metrics, key=lambda each: STATES.index(each.state))
    yield from _align_rows((each.state, each.metric, each.reason) for each in by_state)
    yield from _list_ways(trace)
    yield ""
    yield from _list_identities(trace)
    if secrets:
        yield ""
        names = ", ".join(f"{each.kind} ({each.number:,})" for each in secrets)
        advice = (
            "Before you share it: traceq anonymise TRACE -o FILE"
            if trace.format in ANONYMISED
            else "Traces of its format cannot be anonymised yet; share a report instead: traceq report --ticket"
        )
        yield from _wrap_text(f"! The file names {names}. {advice}", others=_INDENT)


def _list_facts(trace: TraceHealth) -> Iterator[str]:
    yield f"trace {trace.trace_id}"
    if trace.run:
        yield f"run {trace.run}"
    if trace.rank is not None:
        yield f"rank {trace.rank}"
    yield " ".join(word for word in (trace.producer or trace.format, trace.producer_version) if word)
    yield some(trace.inputs.gpu_slices, "GPU slice")
    yield some(trace.inputs.host_slices, "host slice")


def _list_lost(trace: TraceHealth) -> Iterator[str]:
    if trace.inputs.lost:
        codes = ", ".join(f"{each.code} ({each.count:,})" for each in trace.inputs.lost)
        yield from _wrap_text(
            f"! Some data is missing: {codes}. The table import_note has the details.", others=_INDENT
        )


def _list_made_with(trace: TraceHealth) -> Iterator[str]:
    if trace.made_with:
        yield from _wrap_text(f"{some(trace.made_with, 'fact')} about how it was made, in the table made_with.")
    elif trace.format in _RECORDED:
        yield from _wrap_text(
            "It is not known how it was made; traceq record and traceq.profile write that next to a trace.",
            others=_INDENT,
        )


def _list_ways(trace: TraceHealth) -> Iterator[str]:
    """Yield lines for each profiler: the options that would give more metrics; then the command that plans such a capture."""
    told: dict[str, list[tuple[str, str]]] = {}
    for each in trace.metrics:
        for way in each.ways:
            if way.options:
                note = f"; {way.note}" if each.needs == "marks" and way.note else ""
                told.setdefault(way.tool, []).append((each.metric, way.options + note))
    for tool, lines in told.items():
        yield ""
        yield f"What {tool} would add"
        yield from _align_rows(lines)
    if told:
        names = " ".join(each.metric for each in trace.metrics if each.ways)
        yield ""
        yield from _wrap_text(f"All of it, ready to paste: traceq doctor --plan {names}", others=_INDENT)


def _list_identities(trace: TraceHealth) -> Iterator[str]:
    broken, number = len(trace.broken), len(trace.identities)
    yield f"{broken} of {number} identities DO NOT HOLD" if broken else f"All {number} identities hold"
    yield from _align_rows(_describe_identity(each) for each in trace.identities)


def _describe_identity(each: IdentityCheck) -> tuple[str, ...]:
    where = f" - not so: {each.example}" if each.example else ""
    return f"{each.checked:,}", each.identity.unit, f"{each.broken:,} broken", f"{each.identity.rule}{where}"


def _align_rows(rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
    """Yield the rows as lines of aligned columns, numbers at the right; the last column is wrapped and must not be empty."""
    listed = [tuple(map(printable, row)) for row in rows]
    widths = [max(map(len, column)) for column in list(zip(*listed, strict=True))[:-1]]
    for *cells, last in listed:
        padded = (c.rjust(w) if c[:1].isdigit() else c.ljust(w) for c, w in zip(cells, widths, strict=True))
        first = _INDENT + "".join(f"{cell}  " for cell in padded)
        yield from _wrap_text(last, first=first, others=" " * len(first))


def _wrap_text(text: str, *, first: str = "", others: str = "") -> list[str]:
    return textwrap.wrap(
        text, _WIDTH, initial_indent=first, subsequent_indent=others, break_on_hyphens=False, break_long_words=False
    )
