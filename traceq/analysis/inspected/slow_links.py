"""Slow links: transfers of pairs and groups of ranks against those of their like, and what slow ones have in common.

A transfer is the least duration over the ranks of an operation, so a late rank does not make it longer. A link is compared
with its siblings: as many ranks, within one machine or between machines, the same operations and sizes, in the same tenth of
the record. It is slow where it takes a quarter longer at least, and longer than chance gives by how the siblings differ.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import duckdb
import msgspec
import numpy as np
import pyarrow as pa

from traceq.database.tables import insert_rows

# How much longer than its siblings a slow link takes at least, and how much their logarithms differ at the least.
LEAST_RATIO = 1.25
LEAST_SPREAD = 0.03
# The chance that any link of a healthy job is called slow, by the spread of its siblings.
CHANCE = 0.01
# With fewer siblings nothing tells what is usual.
LEAST_SIBLINGS = 4
# Of many periods so many in a row have to be slow: transfers in one may meet a neighbour's.
_IN_A_ROW = 2
# A place explains slow links where at least this share of its links is slow.
_PURITY = 0.6
# From median absolute deviation to standard deviation, of normal numbers.
_TO_DEVIATION = 1.4826


class Link(msgspec.Struct, frozen=True):
    """A pair of processes in one direction, or a communicator with its `processes`; key as in the table _link_period."""

    kind: str
    name: str
    level: str
    group_size: int
    processes: tuple[int, ...]


class LinkClass(msgspec.Struct, frozen=True):
    """One row of _link_period: a link's transfers of one operation and size in one period. Times in ns, bandwidth in GB/s."""

    link: Link
    op: str
    bytes: int
    period: int
    count: int
    transfer: float
    bandwidth: float
    utc_ns: int | None


class LinkFound(msgspec.Struct, frozen=True):
    """A link with what its comparison with its siblings gave; times in ns since 1970, bandwidths in GB/s."""

    link: Link
    siblings: int
    count: int
    bytes: int
    bandwidth: float
    usual_bandwidth: float
    ratio: float
    periods: int
    slow_periods: int
    since_period: int | None
    since_utc_ns: int | None
    chance: float

    @property
    def is_slow(self) -> bool:
        """Whether it was clearly slower than its siblings, in several periods in a row where there are several."""
        return self.since_period is not None


class SlowPlace(msgspec.Struct, frozen=True):
    """A place of the network that explains slow links: a rank, host, pair or group, with its slow links and all of its links."""

    kind: str
    name: str
    processes: tuple[int, ...]
    level: str
    slow: tuple[LinkFound, ...]
    links: int


def compare_links(classes: Sequence[LinkClass]) -> list[LinkFound]:
    """Compare each link with its siblings, period by period; those with too few siblings are left out."""
    usual = _find_usual(classes)
    longer: dict[Link, dict[int, tuple[float, float]]] = defaultdict(dict)
    for row in classes:
        of = usual.get(_class_of(row))
        if of is not None:
            took, would = longer[row.link].get(row.period, (0.0, 0.0))
            longer[row.link][row.period] = (took + row.count * row.transfer, would + row.count * of.transfer)
    ratios = {
        link: {period: took / would for period, (took, would) in periods.items()} for link, periods in longer.items()
    }
    families: dict[tuple[str, str, int], list[Link]] = defaultdict(list)
    for link in ratios:
        families[link.kind, link.level, link.group_size].append(link)
    tests = sum(map(len, ratios.values()))
    return [
        found
        for links in families.values()
        if len(links) >= LEAST_SIBLINGS
        for found in _judge_family(links, ratios, classes, usual, tests)
    ]


class _Usual(msgspec.Struct, frozen=True):
    """The median of the links of a class in a period: transfer in ns, bandwidth in GB/s."""

    transfer: float
    bandwidth: float


def _class_of(row: LinkClass) -> tuple[Any, ...]:
    """Return what links are compared by: the key of the class and period of a row."""
    return row.link.kind, row.link.level, row.link.group_size, row.op, row.bytes, row.period


def _find_usual(classes: Iterable[LinkClass]) -> dict[tuple[Any, ...], _Usual]:
    """Return the usual transfer and bandwidth by class and period, where there are siblings enough."""
    rows: dict[tuple[Any, ...], list[LinkClass]] = defaultdict(list)
    for row in classes:
        rows[_class_of(row)].append(row)
    return {
        key: _Usual(
            float(np.median([row.transfer for row in found])), float(np.median([row.bandwidth for row in found]))
        )
        for key, found in rows.items()
        if len(found) >= LEAST_SIBLINGS
    }


def _judge_family(
    links: Sequence[Link],
    ratios: Mapping[Link, Mapping[int, float]],
    classes: Sequence[LinkClass],
    usual: Mapping[tuple[Any, ...], _Usual],
    tests: int,
) -> list[LinkFound]:
    """Return what the comparison of links of one family gave; `tests` is the number of comparisons of all families."""
    chances: dict[Link, dict[int, float]] = defaultdict(dict)
    for period in sorted({period for link in links for period in ratios[link]}):
        here = [link for link in links if period in ratios[link]]
        logs = np.log([ratios[link][period] for link in here])
        middle = float(np.median(logs))
        spread = max(_TO_DEVIATION * float(np.median(np.abs(logs - middle))), LEAST_SPREAD)
        for link, log in zip(here, logs, strict=True):
            chances[link][period] = min(1.0, tests * math.erfc((float(log) - middle) / spread / math.sqrt(2)) / 2)
    rows: dict[Link, list[LinkClass]] = defaultdict(list)
    for row in classes:
        if _class_of(row) in usual:
            rows[row.link].append(row)
    return [_judge_link(link, len(links), ratios[link], chances[link], rows[link], usual) for link in links]


def _judge_link(
    link: Link,
    siblings: int,
    ratios: Mapping[int, float],
    chances: Mapping[int, float],
    rows: Sequence[LinkClass],
    usual: Mapping[tuple[Any, ...], _Usual],
) -> LinkFound:
    """Return what the comparison of one link gave, from its ratios and chances by period and its rows of _link_period."""
    slow = sorted(period for period in ratios if ratios[period] >= LEAST_RATIO and chances[period] < CHANCE)
    needed = min(_IN_A_ROW, len(ratios))
    runs = [period for period in slow if all(period + step in slow for step in range(needed))]
    since = runs[0] if runs else None
    largest = max(row.bytes for row in rows)
    of_largest = [row for row in rows if row.bytes == largest and (since is None or row.period >= since)]
    times = [row.utc_ns for row in rows if row.period == since and row.utc_ns is not None]
    return LinkFound(
        link,
        siblings,
        sum(row.count for row in rows),
        largest,
        float(np.median([row.bandwidth for row in of_largest])),
        float(np.median([usual[_class_of(row)].bandwidth for row in of_largest])),
        float(np.median([ratio for period, ratio in ratios.items() if since is None or period >= since])),
        len(ratios),
        len(slow),
        since,
        min(times) if times and since else None,
        min(chances.values()),
    )


def explain_slow(found: Sequence[LinkFound], hosts: Mapping[int, str | None]) -> list[SlowPlace]:
    """Return the places of the network that explain the slow links, the one that explains most first.

    A rank or host explains several links that have it in common, if most of its links are slow; what is left is told link by
    link. `hosts` are the processes' hosts.
    """
    left = {link for link in found if link.is_slow}
    places: list[SlowPlace] = []
    while left:
        candidates = [*_common_places(found, left, hosts), *(_place_of_link(link, hosts) for link in left)]
        best = max(candidates, key=_rate_place)
        best = _narrow_place(best, candidates)
        places.append(best)
        left -= set(best.slow)
    return places


def _rate_place(place: SlowPlace) -> tuple[float, ...]:
    """Return by what the best explanation is chosen: how many slow links, what share of its links, and how small it is."""
    return len(place.slow), len(place.slow) / place.links, -len(place.processes)


def _narrow_place(best: SlowPlace, candidates: Sequence[SlowPlace]) -> SlowPlace:
    """Return a smaller place that explains all the same links as `best`; `best` without one."""
    same = [place for place in candidates if set(place.slow) == set(best.slow)]
    return min(same, key=lambda place: (-len(place.slow) / place.links, len(place.processes), place.kind == "rank"))


def _common_places(
    found: Sequence[LinkFound], left: set[LinkFound], hosts: Mapping[int, str | None]
) -> Iterable[SlowPlace]:
    """Yield the ranks and hosts of which most links are slow, with those of them that are not explained yet (`left`)."""
    by_level: dict[str, list[LinkFound]] = defaultdict(list)
    for link in found:
        by_level[link.link.level].append(link)
    for level, links in by_level.items():
        of_rank: dict[int, list[LinkFound]] = defaultdict(list)
        for link in links:
            for process in link.link.processes:
                of_rank[process].append(link)
        of_host: dict[str, list[int]] = defaultdict(list)
        for process in of_rank:
            host = hosts.get(process)
            if host is not None:
                of_host[host].append(process)
        for process, own in of_rank.items():
            yield from _make_place("rank", str(process), (process,), level, own, left)
        for host, processes in of_host.items():
            mine = list(dict.fromkeys(link for process in processes for link in of_rank[process]))
            yield from _make_place("host", host, tuple(processes), level, mine, left)


def _make_place(
    kind: str, name: str, processes: tuple[int, ...], level: str, links: Sequence[LinkFound], left: set[LinkFound]
) -> Iterable[SlowPlace]:
    """Yield the place if most of its links are slow, and two of them are not explained yet."""
    slow = tuple(link for link in links if link in left)
    if len(slow) > 1 and sum(link.is_slow for link in links) >= _PURITY * len(links):
        yield SlowPlace(kind, name, processes, level, slow, len(links))


def _place_of_link(link: LinkFound, hosts: Mapping[int, str | None]) -> SlowPlace:
    """Return a slow link as a place of its own: a pair, a group, or the host that holds all of the group."""
    of = link.link
    within = {hosts.get(process) for process in of.processes} if of.kind == "group" else set()
    name = str(next(iter(within))) if len(within) == 1 and None not in within else of.name
    return SlowPlace(of.kind, name, of.processes, of.level, (link,), 1)


def fill_slow_links(connection: duckdb.DuckDBPyConnection, trace_id: int) -> None:
    """Fill the tables inspected_link and slow_link from the temporary table _link_period."""
    rows = connection.execute(
        "select kind, link, level, group_size, source, target, op, bytes, period, count, transfer, bandwidth, utc_ns"
        " from _link_period"
    ).fetchall()
    members: dict[str, list[int]] = defaultdict(list)
    for communicator, process in connection.execute(
        "select distinct communicator, process from _inspected_row order by all"
    ).fetchall():
        members[communicator].append(process)
    links: dict[tuple[str, str], Link] = {}
    classes = []
    for kind, name, level, group_size, source, target, *values in rows:
        processes = tuple(members[name]) if source is None else (source, target)
        link = links.setdefault((kind, name), Link(kind, name, level, group_size, processes))
        classes.append(LinkClass(link, *values))
    found = compare_links(classes)
    hosts = dict(connection.execute("select process, host from _inspected_process").fetchall())
    places = explain_slow(found, hosts)
    _insert_into(connection, "inspected_link", _link_rows(trace_id, found, places))
    _insert_into(connection, "slow_link", _place_rows(trace_id, places, hosts))


def _insert_into(connection: duckdb.DuckDBPyConnection, table: str, rows: list[dict[str, Any]]) -> None:
    """Insert the rows, if there are any, into the table."""
    if rows:
        insert_rows(connection, table, pa.Table.from_pylist(rows))


def _link_rows(trace_id: int, found: Sequence[LinkFound], places: Sequence[SlowPlace]) -> list[dict[str, Any]]:
    """Return the compared links as rows of inspected_link."""
    explained = {link: number for number, place in enumerate(places) for link in place.slow}
    return [
        {
            "trace_id": trace_id,
            "link_id": number,
            "kind": link.link.kind,
            "communicator": link.link.name if link.link.kind == "group" else None,
            "source": link.link.processes[0] if link.link.kind == "pair" else None,
            "target": link.link.processes[1] if link.link.kind == "pair" else None,
            "level": link.link.level,
            "group_size": link.link.group_size,
            "siblings": link.siblings,
            "count": link.count,
            "bytes": link.bytes,
            "bandwidth": link.bandwidth,
            "usual_bandwidth": link.usual_bandwidth,
            "ratio": link.ratio,
            "periods": link.periods,
            "slow_periods": link.slow_periods,
            "is_slow": link.is_slow,
            "since_period": link.since_period,
            "since_utc_ns": link.since_utc_ns,
            "chance": link.chance,
            "slow_link_id": explained.get(link),
        }
        for number, link in enumerate(found)
    ]


def _place_rows(trace_id: int, places: Sequence[SlowPlace], hosts: Mapping[int, str | None]) -> list[dict[str, Any]]:
    """Return the places as rows of slow_link."""
    return [_place_row(trace_id, number, place, hosts) for number, place in enumerate(places)]


def _place_row(trace_id: int, number: int, place: SlowPlace, hosts: Mapping[int, str | None]) -> dict[str, Any]:
    """Return a place as a row of slow_link."""
    within = {hosts.get(process) for process in place.processes}
    most = max(place.slow, key=lambda link: link.count)
    begins = [link.since_utc_ns for link in place.slow]
    times = [begin for begin in begins if begin is not None]
    return {
        "trace_id": trace_id,
        "slow_link_id": number,
        "kind": place.kind,
        "process": place.processes[0] if place.kind in ("rank", "pair") else None,
        "peer": place.processes[1] if place.kind == "pair" else None,
        "host": next(iter(within)) if len(within) == 1 else None,
        "communicator": place.slow[0].link.name if place.kind == "group" else None,
        "level": place.level,
        "slow": len(place.slow),
        "links": place.links,
        "ratio": float(np.median([link.ratio for link in place.slow])),
        "bandwidth": most.bandwidth,
        "usual_bandwidth": most.usual_bandwidth,
        # slow from the beginning where one of them is
        "since_utc_ns": min(times) if len(times) == len(begins) else None,
        "chance": min(link.chance for link in place.slow),
    }
