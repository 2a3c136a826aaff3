"""Builds the timelines of a report: the whole capture, and the worst and a typical occurrence of each finding."""

from __future__ import annotations

import re
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from traceq.analysis.categories import CATEGORIES
from traceq.common.text import shortened
from traceq.common.units import count, duration, share, some
from traceq.database.query import Setting, ask, literal
from traceq.database.sql import run, statement
from traceq.diagnosis.finding import Finding
from traceq.reports.pieces import DrawnPieces, Stretch, count_merged, join_pieces, merge_short, pieces_of
from traceq.reports.queries import read_columns, read_rows
from traceq.reports.timeline import RARE, Called, DrawnPath, DrawnSlices, Lane, Mark, Timeline

if TYPE_CHECKING:
    import duckdb
    import numpy.typing as npt


class _DrawnSize(NamedTuple):
    """The limits of a drawing: slices, GPUs, streams of a GPU, host threads, and levels of nested calls of a thread."""

    slices: int
    devices: int
    streams: int
    threads: int
    levels: int


# All traces of a report share what may be drawn, so that the page stays small.
_ALL_STEPS, _OF_ALL_TRACES = _DrawnSize(70_000, devices=4, streams=6, threads=4, levels=8), 280_000
_ONE_STEP = _DrawnSize(15_000, devices=1, streams=6, threads=4, levels=8)
_OCCURRENCE, _FINDINGS_OF_ALL_TRACES = _DrawnSize(800, devices=1, streams=4, threads=2, levels=6), 20

# The share of slices for detailed steps, where not all steps can be drawn as they are.
_DETAIL = 0.5
# The finest that short slices are drawn together to is a part of what is drawn; how much coarser it gets until they fit.
_COLUMNS, _COARSER = 100_000, 1.4

# What lies outside of the counted steps has so many slices for each inside, but at least so many: pages stay small.
_OUTSIDE, _LEAST_OUTSIDE = 0.05, 100

# No step: nothing overlaps it.
_NOTHING = (0, 0)

# What is drawn around an occurrence: a share of its length, at least ns, and GPU work within ns.
_AROUND: dict[str, float] = {"margin": 0.4, "least": 20_000, "reach": 1_000_000}
# Of a finding with more occurrences in one drawing not all are marked.
_MARKS = 200

_NAME_LIMIT = 24
# Names take more room than slices: at most one for so many of these, and at least so many.
_SLICES_OF_A_NAME, _LEAST_NAMES = 16, 800


def build_steps(
    connection: duckdb.DuckDBPyConnection, trace_id: int, device: int | None, traces: int = 1
) -> Timeline | None:
    """Build the timeline of the whole capture, the counted steps or two of them in detail; None without steps.

    With more `traces` on one page, short slices are merged further.
    """
    steps = read_rows(connection, "timeline_step", trace_id=trace_id)
    if not steps:
        return None
    counted = (steps[0]["first_ts"], steps[0]["last_ts_end"])
    ts, ts_end = min(counted[0], steps[0]["capture_ts"]), max(counted[1], steps[0]["capture_ts_end"])
    views = tuple(Mark(step["ts"] - ts, step["ts_end"] - step["ts"], _step_title(step, len(steps))) for step in steps)
    size = _ALL_STEPS._replace(slices=min(_ALL_STEPS.slices, _OF_ALL_TRACES // traces))
    steps_in_words = "" if steps[0]["is_window"] else f", {some(steps[0]['steps'], 'counted step')}"
    return _build_timeline(
        connection,
        trace_id,
        device,
        (ts, ts_end),
        size,
        detailed=[(step["ts"], step["ts_end"]) for step in steps],
        counted=counted,
        kind="steps",
        title=f"The whole capture{steps_in_words}",
        views=views,
    )


def build_typical_step(connection: duckdb.DuckDBPyConnection, trace_id: int, device: int | None) -> Timeline | None:
    """Build the timeline of the counted step whose length is nearest to the median; None without steps."""
    for step in read_rows(connection, "timeline_step", trace_id=trace_id)[:1]:
        title = _step_title(step, 1)
        window = (step["ts"], step["ts_end"])
        return _build_timeline(connection, trace_id, device, window, _ONE_STEP, kind="step", title=title)
    return None


def _step_title(step: Mapping[str, Any], steps: int) -> str:
    if step["is_window"]:
        return "The window"
    return f"Step {step['step']}" + (f", {step['what']}" if steps > 1 else "")


def build_occurrences(
    connection: duckdb.DuckDBPyConnection,
    trace_id: int,
    captured: tuple[int, int],
    findings: Sequence[Finding],
    traces: int = 1,
) -> Iterator[tuple[str, tuple[Timeline, ...]]]:
    """Yield (finding's id, timelines of its worst and of a typical occurrence) for findings that have a place in time.

    `captured` is when the trace begins and ends, ns: nothing outside is drawn. With more `traces` on one page, fewer
    findings are drawn.
    """
    for number, finding in enumerate(findings[: max(1, _FINDINGS_OF_ALL_TRACES // traces)], 1):
        drawn = tuple(
            _build_occurrence(connection, trace_id, finding, number, piece)
            for piece in _read_occurrences(connection, trace_id, captured, finding)
        )
        if drawn:
            yield finding.finding_id, drawn


def _read_occurrences(
    connection: duckdb.DuckDBPyConnection, trace_id: int, captured: tuple[int, int], finding: Finding
) -> list[dict[str, Any]]:
    if not finding.instances.rows:
        return []
    every = re.sub(r"limit \d+\s*$", "", finding.instances.query)
    ask(connection, f"create or replace temp table finding_piece as\n{every}")
    found = read_rows(
        connection,
        "occurrence",
        trace_id=trace_id,
        device=-2 if finding.where.device is None else finding.where.device,
        captured=captured[0],
        captured_end=captured[1],
        **_AROUND,
    )
    ask(connection, "drop table temp.finding_piece")
    return found


def _build_occurrence(
    connection: duckdb.DuckDBPyConnection, trace_id: int, finding: Finding, number: int, piece: Mapping[str, Any]
) -> Timeline:
    ts, slice_id = piece["window_ts"], piece["slice_id"]
    others = sorted(piece["others"] or (), key=lambda other: -other["dur"])[: _MARKS - 1]
    marks = [Mark(piece["ts"] - ts, piece["dur"], f"F{number}, {duration(piece['dur'])}")]
    marks += [Mark(other["ts"] - ts, other["dur"], "") for other in others]
    return _build_timeline(
        connection,
        trace_id,
        finding.where.device,
        (ts, piece["window_ts_end"]),
        _OCCURRENCE,
        culprit=-1 if slice_id is None else slice_id,
        kind="occurrence",
        title=_occurrence_title(piece),
        marks=tuple(marks),
    )


def _occurrence_title(piece: Mapping[str, Any]) -> str:
    """Return the title of an occurrence, as "Worst occurrence of 12: 68.2 ms in step 5, 94.1 % of the cost"."""
    step = "" if piece["step"] is None else f" in step {piece['step']}"
    length = f"{duration(piece['dur'])}{step}"
    if piece["pieces"] == 1:
        return f"The occurrence: {length}"
    of = f"of {count(piece['pieces'])}: {length}"
    if piece["is_typical"]:
        return f"Typical occurrence {of}; half of the cost is in it and costlier ones"
    return f"Worst occurrence {of}, {share(piece['share'])} of the cost"


def _build_timeline(
    connection: duckdb.DuckDBPyConnection,
    trace_id: int,
    device: int | None,
    window: tuple[int, int],
    size: _DrawnSize,
    *,
    detailed: Sequence[tuple[int, int]] = (),
    counted: tuple[int, int] = _NOTHING,
    culprit: int = -1,
    **named: Any,
) -> Timeline:
    ts, ts_end = window
    place: dict[str, Setting] = {
        "trace_id": trace_id,
        "ts": ts,
        "ts_end": ts_end,
        "culprit": culprit,
        "device": -2 if device is None else device,
        "categories": ",".join(CATEGORIES),
        **_detail_places(detailed),
    }
    (hides,) = run(connection, "reports/sql/timeline_track.sql", **place, **size._asdict()).fetchone() or (False,)
    # What is drawn of a whole trace is read once, and has no need of a table.
    what = "view" if detailed and not hides else "table"
    host = statement(f"reports/sql/{'timeline_nested_host' if hides else 'timeline_host'}.sql")
    ask(connection, f"create or replace temp {what} timeline_host as {literal(host, **place, **size._asdict())}")
    tracks = read_rows(connection, "timeline_lane", trace_id=trace_id)
    named["detail"] = " and ".join(view.text.split(",")[0].lower() for view in named.get("views", ()))
    outside = None
    if detailed and _count_slices(connection, place, counted) <= size.slices:
        # There is room for all counted steps: then they are drawn in detail, and what is around them coarser.
        place |= _detail_places([counted])
        named["detail"], outside = "the counted steps", _OUTSIDE
    pieces, stretch = join_within(
        _read_pieces(connection, tracks, place, by_track=bool(detailed)), size.slices, ts_end - ts, outside
    )
    scale = {"pixel": stretch.coarse, "fine": stretch.fine}
    connection.register("timeline_piece", _make_table(pieces))
    found = read_columns(connection, "timeline", **place, **scale)
    path = _read_path(read_columns(connection, "timeline_path", trace_id=trace_id, ts=ts, ts_end=ts_end))
    connection.unregister("timeline_piece")
    ask(connection, f"drop {what} temp.timeline_host")
    ask(connection, "drop table temp.timeline_track")
    called, slices = _read_slices(found, max(_LEAST_NAMES, size.slices // _SLICES_OF_A_NAME))
    return Timeline(
        ts=ts,
        dur=ts_end - ts,
        lanes=_read_lanes(tracks, pieces),
        called=called,
        slices=slices,
        resolution=stretch.coarse,
        fine=stretch.fine,
        culprit=next(iter(np.flatnonzero(found["is_culprit"]).tolist()), -1),
        path=path,
        **named,
    )


def _detail_places(detailed: Sequence[tuple[int, int]]) -> dict[str, Setting]:
    """Return the settings of queries that say which stretches of time, at most two, are drawn in detail."""
    (ts, end), (other_ts, other_end) = (*detailed, _NOTHING, _NOTHING)[:2]
    return {"detail_ts": ts, "detail_end": end, "other_detail_ts": other_ts, "other_detail_end": other_end}


def _count_slices(connection: duckdb.DuckDBPyConnection, place: Mapping[str, Setting], counted: tuple[int, int]) -> int:
    """Return how many slices may be drawn of the counted steps."""
    (row,) = read_rows(
        connection, "timeline_count", trace_id=place["trace_id"], detail_ts=counted[0], detail_end=counted[1]
    )
    return int(row["slices"])


def _read_pieces(
    connection: duckdb.DuckDBPyConnection,
    tracks: Sequence[Mapping[str, Any]],
    place: Mapping[str, Setting],
    *,
    by_track: bool,
) -> Iterator[DrawnPieces]:
    """Yield the pieces of steps, ledgers and streams, then the pieces of host threads.

    Host threads come all at once, or one by one if `by_track`, to use less memory.
    """
    yield _read_raw(read_columns(connection, "timeline_slice", **place), tracks, place)
    hosts = [track["track"] for track in tracks if track["side"] == "host"]
    for first, last in [(each, each) for each in hosts] if by_track else [(min(hosts), max(hosts))] if hosts else []:
        yield _read_raw(read_columns(connection, "timeline_host_slice", first=first, last=last, **place), tracks, place)


def _read_raw(
    read: Mapping[str, npt.NDArray[Any]], tracks: Sequence[Mapping[str, Any]], place: Mapping[str, Any]
) -> DrawnPieces:
    ts, ts_end = read["ts"], read["ts_end"]
    has_slices = np.array([track["side"] in ("gpu", "host") for track in tracks])
    return pieces_of(
        read["track"],
        read["depth"],
        read["number"],
        ts,
        ts_end,
        is_fine=((ts < place["detail_end"]) & (ts_end > place["detail_ts"]))
        | ((ts < place["other_detail_end"]) & (ts_end > place["other_detail_ts"])),
        is_culprit=(read["number"] == place["culprit"]) & has_slices[read["track"]],
    )


def join_within(
    read: Iterable[DrawnPieces], most: int, dur: int, outside: float | None = None
) -> tuple[DrawnPieces, Stretch]:
    """Merge short pieces until at most `most` are left; return these and the lengths (ns) below which pieces were merged.

    `dur` is the length of the timeline, ns. With `outside`, those drawn in detail are all kept, and of the others as many
    as this share of them.
    """
    finest = max(dur // _COLUMNS, 2)
    kept: list[DrawnPieces] = []
    coarse = fine = 0
    for each in read:
        fine_here = int(np.count_nonzero(each.is_fine))
        coarse_here = len(each.is_fine) - fine_here
        coarse, fine = coarse + coarse_here, fine + fine_here
        # What alone is too much need not be held as it is.
        at_once = Stretch(finest if coarse_here > most else 0, finest if fine_here > most else 0)
        kept.append(merge_short(each, at_once))
    for_detail = most * _DETAIL if coarse else most
    if outside is not None:
        most, for_detail = fine + max(int(outside * fine), _LEAST_OUTSIDE), fine
    if coarse + fine <= most:
        return merge_short(join_pieces(kept), Stretch(1, 1)), Stretch(1, 1)
    least = Stretch(1 if coarse <= most - for_detail else finest, 1 if fine <= for_detail else finest)
    pieces = merge_short(join_pieces(kept), least)
    stretch = _find_stretch(pieces, least, most, for_detail, dur)
    return merge_short(pieces, stretch), stretch


def _find_stretch(pieces: DrawnPieces, least: Stretch, most: int, for_detail: float, dur: int) -> Stretch:
    """Return the lengths in ns below which merging leaves about `most` pieces, `for_detail` of them in steps drawn in detail.

    They are multiples of `least`; `dur` is the length of the timeline, ns.
    """
    times_fine = times_coarse = 1
    coarse, fine = count_merged(pieces, least)
    while fine > for_detail and least.fine * times_fine < dur:
        times_fine = _next_stretch(times_fine)
        coarse, fine = count_merged(pieces, Stretch(least.coarse, least.fine * times_fine))
    while coarse + fine > most and least.coarse * times_coarse < dur:
        times_coarse = _next_stretch(times_coarse)
        coarse, fine = count_merged(pieces, Stretch(least.coarse * times_coarse, least.fine * times_fine))
    return Stretch(least.coarse * times_coarse, least.fine * times_fine)


def _next_stretch(times: int) -> int:
    return max(times + 1, round(times * _COARSER))


def _read_path(segments: Mapping[str, npt.NDArray[Any]]) -> DrawnPath:
    """Return the critical path to draw: neighbouring segments on one lane become one.

    Waiting between two of them belongs to it.
    """
    order = np.argsort(segments["segment"], kind="stable")
    lane, ts, ts_end = (segments[name][order] for name in ("lane", "ts", "ts_end"))
    first = np.flatnonzero(np.diff(lane, prepend=-2))
    if not len(first):
        return DrawnPath()
    begins, ends = np.minimum.reduceat(ts, first), np.maximum.reduceat(ts_end, first)
    lane = lane[first]
    return DrawnPath(*(number_names(column[lane >= 0]) for column in (lane, begins, ends - begins)))


def _make_table(pieces: DrawnPieces) -> dict[str, npt.NDArray[Any]]:
    """Make the columns of the table timeline_piece.

    `alone` is the slice that a piece shows, -1 where several were merged.
    """
    named = {"shown": pieces.number, "slices": pieces.slices, "alone": np.where(pieces.is_alone, pieces.number, -1)}
    kept = ("track", "depth", "is_fine", "is_culprit", "cell", "ts", "ts_end", "busy")
    return {**{name: getattr(pieces, name) for name in kept}, **named}


def _read_lanes(tracks: Sequence[Mapping[str, Any]], pieces: DrawnPieces) -> tuple[Lane, ...]:
    """Return the lanes of the tracks that have pieces, as high as their calls are nested."""
    levels = {track["track"]: int(pieces.depth[pieces.track == track["track"]].max(initial=-1)) + 1 for track in tracks}
    drawn = [track for track in tracks if levels[track["track"]]]
    has_several = len({track["device"] for track in drawn} - {None}) > 1
    return tuple(
        Lane(
            (f"GPU {track['device']}: " if has_several and track["device"] is not None else "") + _label_lane(track),
            track["side"],
            levels[track["track"]],
            track["device"],
        )
        for track in drawn
    )


def _label_lane(row: Mapping[str, Any]) -> str:
    number = row["number"]
    match row["side"]:
        case "step":
            return "steps"
        case "ledger":
            return "ledger"
        case "gpu":
            return "stream unknown" if number < 0 else f"stream {number}"
        case _:
            return f"thread {number} {shortened(row['thread_name'] or '', _NAME_LIMIT)}".rstrip()


def _read_slices(found: Mapping[str, npt.NDArray[Any]], most_names: int) -> tuple[tuple[Called, ...], DrawnSlices]:
    each = list(zip(found["name"].tolist(), found["kind"].tolist(), strict=True))
    times: Counter[tuple[str, str]] = Counter()
    for name, busy in zip(each, found["busy"].tolist(), strict=True):
        times[name] += busy
    kept = {name for name, _ in times.most_common(most_names)}
    numbers: dict[Called, int] = {}
    number_of: dict[tuple[str, str], int] = {}
    for name in times:
        called = Called(*name) if name in kept else Called(RARE, name[1])
        number_of[name] = numbers.setdefault(called, len(numbers))
    named = ("lane", "depth", "ts", "dur", "busy", "count", "launch")
    columns_drawn = {name: number_names(found[name]) for name in named}
    return tuple(numbers), DrawnSlices(called=array("q", [number_of[name] for name in each]), **columns_drawn)


def number_names(column: npt.NDArray[Any]) -> array[int]:
    """Return the column as an array of integers."""
    return array("q", column.astype(np.int64).tobytes())
