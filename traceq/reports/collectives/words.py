"""The words of the report on records of collectives."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime

from traceq.common.text import printable
from traceq.common.units import change_share, count, duration, format_bandwidth, maybe, share, size, some
from traceq.reports.collectives.model import (
    CollectiveCost,
    CollectivesReport,
    LateRank,
    LinkFamily,
    SampleCost,
    SlowLink,
    Summary,
)
from traceq.reports.collectives.read import list_classes
from traceq.reports.document import (
    Block,
    Facts,
    Heading,
    Items,
    Literal,
    Name,
    Paragraph,
    Spans,
    Table,
    Verdict,
    Warn,
    make_table,
)
from traceq.reports.renderers.json_text import json_text, to_dict

SCHEMA_VERSION = 1

_MOST_CLASSES, _MOST_LINKS, _MOST_LATE, _MOST_SAMPLES = 10, 4, 4, 12
# What of a bandwidth over the record is worth telling: a lasting change, and a dip in between.
_CHANGE, _DIP = 0.05, 0.9
_LEVELS = {"intra_host": "within the host", "inter_host": "between hosts"}
_MOST_NAMED = 8


def encode_collectives(report: CollectivesReport) -> str:
    """Return the report as JSON text, for programs."""
    return json_text({"schema_version": SCHEMA_VERSION, **to_dict(report)})


def compose_collectives(report: CollectivesReport) -> Iterator[Block]:
    """Yield the report: slow links and late ranks first, then bandwidths by size and group, over time, and notes."""
    yield Heading(1, ("traceq collectives",))
    yield write_verdict(report)
    yield _describe_records(report.summary)
    yield from _tell_losses(report.summary)
    if report.costs:
        yield from _describe_costs(report)
    yield from _describe_drift(report.costs)
    if report.samples:
        yield from _describe_samples(report.samples)
    yield from _describe_links(report)
    yield from _describe_late(report)
    others = tuple((printable(note),) for note in report.notes if "dropped" not in note and "damaged" not in note)
    if others:
        yield Heading(2, ("Notes",), is_minor=True)
        yield Items(others)


def write_verdict(report: CollectivesReport) -> Verdict:
    """Return the first sentence: the slow link that explains most, else the rank that all wait for, else that there is none."""
    if report.slow_links:
        first = report.slow_links[0]
        more = len(report.slow_links) - 1
        lines: list[Spans] = [_describe_where(first)]
        if more:
            lines.append((f"and {some(more, 'more slow place')}, below",))
        lines.append(_advise_on(first))
        return Verdict(("Slow link: ", *_name_place(first), *_name_speed(first)), "problem", lines=tuple(lines))
    if report.late_ranks:
        late = report.late_ranks[0]
        part = share(late.awaited_ns / report.summary.dur_ns)
        waits: Spans = ("Others wait for ", Name(late.name), f": {part} of the time in collectives. ")
        return Verdict((*waits, f"Slow links: {_count_compared(report)}."), "look into", lines=((_LATE_IS_NO_LINK,),))
    if report.no_links is not None:
        return Verdict((f"Slow links: cannot tell: {report.no_links}.",), "cannot tell")
    return Verdict((f"Slow links: {_count_compared(report)}, and no rank holds the others up.",), "healthy")


def _count_compared(report: CollectivesReport) -> str:
    """Return that no link is slow, among how many; or that it cannot be told."""
    if report.no_links is not None:
        return "cannot tell (below)"
    compared = sum(family.links for family in report.families)
    return f"none among {some(compared, 'pair and group', 'pairs and groups')} that were compared"


_LATE_IS_NO_LINK = (
    "A rank that comes late has a cause on its host or GPU, not in the network: a trace of it and of another tells."
)


def _name_place(link: SlowLink) -> Spans:
    """Return what is slow, as the subject of a sentence."""
    host = () if link.host is None or link.kind == "host" else (" on ", Name(link.host))
    if link.kind == "pair":
        return (Name(link.name), " to ", Name(link.peer_name or "?"), *host)
    if link.kind == "group":
        return ("the group of ", _list_ranks(link.ranks), *host)
    return ("host ", Name(link.name)) if link.kind == "host" else (Name(link.name), *host)


def _list_ranks(ranks: tuple[str, ...]) -> str:
    """Return the names of ranks in a line, of many the first and the number."""
    if all(rank.startswith("rank ") for rank in ranks):
        ranks = ("ranks " + ranks[0].removeprefix("rank "), *(rank.removeprefix("rank ") for rank in ranks[1:]))
    more = len(ranks) - _MOST_NAMED
    return Name(", ".join(ranks[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else ""))


def _name_speed(link: SlowLink) -> Spans:
    """Return at what share of the usual speed it runs."""
    usual = format_bandwidth(link.usual_bandwidth)
    return (
        f", at {share(1 / link.ratio)} of the usual speed ({format_bandwidth(link.bandwidth)} instead of {usual}).",
    )


def _describe_where(link: SlowLink) -> Spans:
    """Return on what links that rests, and since when."""
    since = ""
    if link.since_utc_ns is not None:
        since = f", since {_format_time(link.since_utc_ns)}"
    elif link.share_since is not None:
        since = f", since {share(link.share_since)} of the record"
    level = _LEVELS[link.level]
    if link.kind in ("rank", "host"):
        return (
            f"{link.slow} of its {some(link.links, 'link')} {level} {'is' if link.slow == 1 else 'are'} slow{since}",
        )
    if link.kind == "group":
        return (f"{level}; of a ring only its slowest link shows, so which of its ranks is not known{since}",)
    return (f"{level}, in this direction{since}",)


def _advise_on(link: SlowLink) -> Spans:
    """Return what to look at."""
    if link.level == "intra_host":
        return (
            "Look at links between its GPUs: ",
            Literal("nvidia-smi nvlink -e"),
            ", ",
            Literal("nvidia-smi topo -m"),
        )
    if link.kind == "rank":
        return (
            "Look at the network card of its GPU, its cable and port: ",
            Literal("ibstat"),
            ", error counters, PCIe width",
        )
    if link.kind == "host":
        return ("Look at what its cards share: the switch above it, PCIe settings, its place in the network",)
    return ("Look at the path between the two: ports and cables of switches on it, and routes that others share",)


def _format_time(utc_ns: int) -> str:
    """Format a time (ns since 1970) to the second."""
    return f"{datetime.fromtimestamp(utc_ns // 10**9, UTC):%Y-%m-%d %H:%M:%S} UTC"


def _describe_records(summary: Summary) -> Facts:
    """Return what the records are of."""
    hosts = "" if summary.hosts is None else f" on {some(summary.hosts, 'host')}"
    repeated = f"; {count(summary.repeated)} more are repeated" if summary.repeated else ""
    if not summary.records:
        return Facts((("records", (f"none of single operations, from {some(summary.files, 'file')}",)),))
    of = f"{count(summary.records)} of {some(summary.processes, 'process', 'processes')}{hosts}"
    rows: list[tuple[str, Spans]] = [("records", (f"{of}, from {some(summary.files, 'file')}{repeated}",))]
    complete = f"{count(summary.complete)} of them with all their ranks"
    rows.append(("communicators", (f"{count(summary.communicators)}, {complete}",)))
    if summary.first_utc_ns is not None and summary.last_utc_ns is not None:
        about = " (when records were written)" if summary.only_dump_times else ""
        lasted = duration(summary.last_utc_ns - summary.first_utc_ns)
        rows.append(("time", (f"{lasted} from {_format_time(summary.first_utc_ns)}{about}",)))
    if summary.matched:
        known = summary.transfer_ns + summary.wait_ns
        part = f" (of {share(known / summary.dur_ns)} it is known)" if known < summary.dur_ns else ""
        rows.append(("waiting", (f"{share(summary.wait_ns / known)} of the time in collectives{part}",)))
    others = [source for source in summary.sources if source != "kernel_gpu"]
    if others:
        rows.append(("timed by", (", ".join(map(_name_source, summary.sources)),)))
    return Facts(tuple(rows))


def _name_source(source: str) -> str:
    """Return what clock a record's duration is of."""
    return {"kernel_gpu": "the GPU", "kernel_cpu": "the host, for kernels", "collective_cpu": "the host"}.get(
        source, printable(source)
    )


def _tell_losses(summary: Summary) -> Iterator[Block]:
    """Yield warnings on records that are lacking."""
    if summary.dropped:
        text = (
            f"The Inspector dropped {some(summary.dropped, 'operation')} before they were written: shorten"
            " NCCL_INSPECTOR_DUMP_THREAD_INTERVAL_MICROSECONDS."
        )
        yield Warn((text,))
    if summary.damaged:
        yield Warn((f"{some(summary.damaged, 'record')} cut or damaged, and left out.",))


_COST_CELLS: dict[str, Callable[[CollectiveCost], str]] = {
    "operation": lambda cost: cost.op,
    "message": lambda cost: size(cost.message_bytes),
    "ranks": lambda cost: maybe(count, cost.group_size),
    "hosts": lambda cost: maybe(count, cost.nodes),
    "records": lambda cost: count(cost.records),
    "time": lambda cost: share(cost.share),
    "waiting": lambda cost: "-" if not cost.matched else share(_share_waiting(cost)),
    "5 %": lambda cost: maybe(_format_number, cost.bus_low),
    "median": lambda cost: maybe(_format_number, cost.bus_median),
    "95 %": lambda cost: maybe(_format_number, cost.bus_high),
    "change": lambda cost: maybe(change_share, cost.change),
}


def _share_waiting(cost: CollectiveCost) -> float:
    """Return the share of waiting in a class, as if those records of it that are not matched waited as long."""
    return (cost.wait_ns or 0) * cost.records / max(cost.matched, 1) / max(cost.dur_ns, 1)


def _format_number(value: float) -> str:
    """Format a bandwidth in GB/s with three digits, without its unit."""
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"  # noqa: PLR2004


def _describe_costs(report: CollectivesReport) -> Iterator[Block]:
    """Yield the table of bandwidths by kind, size and group, and what they are."""
    yield Heading(2, ("Bandwidth by size and group",))
    shown, others = list_classes(report.costs, _MOST_CLASSES)
    yield make_table(shown, _COST_CELLS)
    waiting = [cost for cost in report.costs if cost.is_with_waiting and cost.bus_median is not None]
    what = "without waiting for other ranks"
    if all(cost.bus_median is None for cost in report.costs):
        what = "unknown, as the records do not say how many ranks a group has, or how long operations took"
    elif len(waiting) == len(report.costs):
        what = "with waiting for other ranks, as one rank sees it"
    elif waiting:
        what += f" (with it for {some(len(waiting), 'class', 'classes')} that not all ranks recorded)"
    left = (
        f" Not shown: {some(len(report.costs) - len(shown), 'class', 'classes')} with {share(others)} of the time."
        if others
        else ""
    )
    still = ""
    if any(cost.change is not None for cost in report.costs) and not _list_moved(report.costs):
        still = f" None changed by {share(_CHANGE)} or more."
    yield Paragraph(
        (
            f"5 %, median, 95 %: bus bandwidth in GB/s, {what}; change: last three tenths against the first.{still}{left}",
        )
    )


def _describe_drift(costs: tuple[CollectiveCost, ...]) -> Iterator[Block]:
    """Yield a table of the bandwidths that changed over the record; nothing where none did."""
    moved = _list_moved(costs)
    if moved:
        yield Heading(2, ("Over time",))
        yield Table(
            ("operation", "message", "ranks", "bandwidth (GB/s) in ten equal parts of the record"),
            tuple(
                (
                    cost.op,
                    size(cost.message_bytes),
                    maybe(count, cost.group_size),
                    " ".join(map(_format_number, cost.periods)),
                )
                for cost in moved[:_MOST_LINKS]
            ),
            text_columns=(0, 3),
        )


def _list_moved(costs: Sequence[CollectiveCost]) -> list[CollectiveCost]:
    """Return the classes whose bandwidth changed over the record, or dipped in between."""
    return [
        cost
        for cost in costs
        if (cost.change is not None and abs(cost.change) >= _CHANGE) or (cost.dip is not None and cost.dip <= _DIP)
    ]


_LINK_CELLS: dict[str, Callable[[SlowLink], str]] = {
    "where": lambda link: Name("".join(_name_place(link))),
    "links": lambda link: f"{link.slow} of {link.links}" if link.kind in ("rank", "host") else link.kind,
    "level": lambda link: _LEVELS[link.level],
    "runs at": lambda link: share(1 / link.ratio),
    "GB/s": lambda link: _format_number(link.bandwidth),
    "usual": lambda link: _format_number(link.usual_bandwidth),
    "chance": lambda link: f"{link.chance:.0e}" if link.chance > 1e-9 else "< 1e-9",  # noqa: PLR2004
}


def _describe_links(report: CollectivesReport) -> Iterator[Block]:
    """Yield what links were compared, and the slow ones."""
    yield Heading(2, ("Links",))
    if report.no_links is not None:
        yield Paragraph((f"Cannot tell: {report.no_links}.",))
        return
    if report.slow_links:
        yield make_table(report.slow_links[:_MOST_LINKS], _LINK_CELLS, text=(0, 1, 2))
    if len(report.slow_links) > _MOST_LINKS:
        yield Paragraph((f"and {len(report.slow_links) - _MOST_LINKS} more; --format json has all.",))
    yield Paragraph((f"Compared: {'; '.join(map(_describe_family, report.families))}. Waiting is left out.",))


def _describe_family(family: LinkFamily) -> str:
    """Return how many links of a kind were compared, and how many of them are slow."""
    slow = f", {family.slow} slow" if family.slow else ""
    return f"{some(family.links, family.kind)} {_LEVELS[family.level]}{slow}"


_LATE_CELLS: dict[str, Callable[[LateRank], str]] = {
    "rank": lambda late: Name(late.name),
    "host": lambda late: Name(late.host or "-"),
    "came last": lambda late: f"{count(late.last_count)} of {count(late.matched)}",
    "late by": lambda late: maybe(duration, late.late_by_ns),
    "others waited": lambda late: duration(late.awaited_ns),
    "": lambda late: "shares a slow link" if late.is_on_slow_link else "",
}


def _describe_late(report: CollectivesReport) -> Iterator[Block]:
    """Yield the ranks that others wait for; a sentence if no rank is late, or if nothing tells."""
    yield Heading(2, ("Ranks that come late",))
    if report.no_late is not None:
        yield Paragraph((f"Cannot tell: {report.no_late}.",))
    elif report.late_ranks:
        cells = {title: cell for title, cell in _LATE_CELLS.items() if title or report.slow_links}
        yield make_table(report.late_ranks[:_MOST_LATE], cells, text=(0, 1, len(cells) - 1))
        more = len(report.late_ranks) - _MOST_LATE
        left = f" {some(more, 'more rank')} not shown." if more > 0 else ""
        yield Paragraph((f"Others waited: all of them together. A late rank is no slow link.{left}",))
    else:
        yield Paragraph(("None stands out.",))


_SAMPLE_CELLS: dict[str, Callable[[SampleCost], str]] = {
    "operation": lambda cost: cost.op,
    "message": lambda cost: f"{size(cost.size_low)} to {size(cost.size_high)}",
    "ranks": lambda cost: maybe(count, cost.group_size),
    "hosts": lambda cost: maybe(count, cost.nodes),
    "GPUs": lambda cost: count(cost.gpus),
    "samples": lambda cost: count(cost.samples),
    "mean time": lambda cost: maybe(duration, cost.dur_median_ns),
    "5 %": lambda cost: maybe(_format_number, cost.bus_low),
    "median": lambda cost: maybe(_format_number, cost.bus_median),
    "95 %": lambda cost: maybe(_format_number, cost.bus_high),
}


def _describe_samples(samples: tuple[SampleCost, ...]) -> Iterator[Block]:
    """Yield the table of the means in Prometheus."""
    yield Heading(2, ("Means told to Prometheus",))
    yield make_table(samples[:_MOST_SAMPLES], _SAMPLE_CELLS, text=(0, 1))
    yield Paragraph(("5 %, median, 95 %: of the GPUs' mean bus bandwidths in GB/s, waiting for other ranks included.",))
