"""The ledger of a run computed the slow way: one nanosecond at a time, from lines of steps and events of one log."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import NamedTuple

_SPOKEN = ("checkpoint", "evaluation", "compile", "data")
_WEIGHTS = {"silent": 0, "failure": 1, "off": 2, "start": 3, "running": 4}


class Line(NamedTuple):
    """A line of the log at its end: attempt as the log counts, number of the last step, its steps, ns a step."""

    end: int
    attempt: int
    step: int
    steps: int
    dur: int | None


class Event(NamedTuple):
    """An interval or, where dur is None, a moment."""

    at: int
    dur: int | None
    phase: str

    @property
    def end(self) -> int:
        return self.at + (self.dur or 0)


class Piece(NamedTuple):
    """A line and what of the time it covers is what."""

    attempt: int
    begin: int
    line: Line


def cover(lines: Sequence[Line], events: Sequence[Event]) -> list[Piece]:
    pieces: list[Piece] = []
    before: Line | None = None
    for line in sorted(lines, key=lambda line: (line.end, line.attempt, line.step)):
        begin = line.end - line.steps * (line.dur or 0)
        anew = before is None
        if before is not None:
            ended = any(e.phase == "allocation" and before.end <= e.end < line.end for e in events)
            anew = line.attempt != before.attempt or ended
            begin = max(begin, before.end)
            starts = [e.at for e in events if e.phase in ("start_up", "allocation") and before.end < e.at <= line.end]
            if line.attempt != before.attempt and starts:
                begin = max(begin, *starts)
        number = (pieces[-1].attempt if pieces else 0) + anew
        pieces.append(Piece(number, min(begin, line.end), line))
        before = line
    return pieces


def usual(pieces: Sequence[Piece]) -> tuple[int | None, int | None]:
    """The usual time a step and between two lines, ns."""
    rows = []
    for index, piece in enumerate(pieces):
        place = sum(other.attempt == piece.attempt for other in pieces[:index]) + 1
        same = index and pieces[index - 1].attempt == piece.attempt
        rows.append((place, piece.line.dur, piece.line.end - pieces[index - 1].line.end if same else None))
    late = [row for row in rows if row[0] > 10]
    chosen = late if len(late) >= 5 else [row for row in rows if row[0] > 1]
    answers = []
    for column in (1, 2):
        known = [row[column] for row in chosen if row[column] is not None]
        enough = len(known) >= 5 or (len(late) >= 5 and known)
        answers.append(round(median(known)) if enough else None)
    return answers[0], answers[1]


def ledger(lines: Sequence[Line], events: Sequence[Event], first: int, last: int) -> list[str]:
    """The category of each ns from the first to the last time known."""
    pieces = cover(lines, events)
    usual_dur, usual_gap = usual(pieces)
    spoken = [e for e in events if e.phase in _SPOKEN]
    runs = {a: [p for p in pieces if p.attempt == a] for a in sorted({p.attempt for p in pieces})}
    turns = _turns(runs, events, first)
    kept = _kept(runs, events, turns)
    times = [first, last, *(p.begin for p in pieces), *(line.end for line in lines)]
    times += [time for e in events for time in (e.at, e.end)]
    found = []
    for now in range(min(times), max(times)):
        phases = {e.phase for e in events if e.dur is not None and e.at <= now < e.end}
        piece = next((p for p in pieces if p.begin <= now < p.line.end), None)
        said = None
        if piece is not None:
            said = _of_line(now, piece, runs[piece.attempt], kept[piece.attempt], spoken, usual_dur)
        in_background = piece is not None and _is_beside(piece, spoken, usual_dur)
        for phase in ("checkpoint", "evaluation", "compile", "data"):
            if phase in phases and not (in_background and phase in ("checkpoint", "evaluation")):
                said = phase
                break
        said = said or next((phase for phase in ("start_up", "restart", "idle") if phase in phases), None)
        found.append(said or _by_turn(now, turns, phases, usual_gap))
    return found


def _overlap(piece: Piece, intervals: Sequence[Event]) -> int:
    return sum(any(e.at <= now < e.end for e in intervals) for now in range(piece.begin, piece.line.end))


def _is_beside(piece: Piece, spoken: Sequence[Event], usual_dur: int | None) -> bool:
    beside = _overlap(piece, [e for e in spoken if e.phase in ("checkpoint", "evaluation")])
    excess = None if usual_dur is None else piece.line.end - piece.begin - piece.line.steps * usual_dur
    return beside > 0 and excess is not None and 2 * excess < beside


def _of_line(
    now: int, piece: Piece, run: Sequence[Piece], kept: int | None, spoken: Sequence[Event], usual_dur: int | None
) -> str:
    length = piece.line.end - piece.begin
    if usual_dur is not None:
        slow = True
        for place, other in enumerate(run):
            extra = other.line.end - other.begin - other.line.steps * usual_dur
            more = extra - _overlap(other, spoken)
            slow = slow and place < 10 and more > 0.25 * (other.line.end - other.begin - extra)
            if other is piece:
                break
        if slow and now < piece.begin + max(more, 0):
            return "compile"
    lost = 0 if kept is None else min(max(piece.line.step - kept, 0), piece.line.steps)
    return "lost" if now >= piece.line.end - length * lost // piece.line.steps else "step"


def _turns(runs: dict[int, list[Piece]], events: Sequence[Event], first: int) -> list[tuple[int, str]]:
    spans = [(run[0].begin, run[-1].line.end) for run in runs.values()]
    jobs = [e for e in events if e.phase == "allocation"]
    known = [(e.at, "start") for e in events if e.phase in ("start_up", "allocation")]
    known += [(first, "start")] if spans and first <= spans[0][0] else []
    known += [(e.at, "failure") for e in events if e.phase == "failure"]
    known += [(e.end, "off") for e in jobs if not any(o.at <= e.end < o.end for o in jobs)]
    turns = [
        (at, kind)
        for at, kind in known
        if not any(at < end and (at > begin or (at == begin and kind != "start")) for begin, end in spans)
    ]
    intervals = [e for e in events if e.phase in _SPOKEN and e.dur is not None]
    silent = []
    for index, (_, end) in enumerate(spans):
        next_begin = spans[index + 1][0] if index + 1 < len(spans) else None
        after = [at for at, _ in turns if at >= end and (next_begin is None or at < next_begin)]
        bound = min(after) if after else next_begin
        ends = [e.end for e in intervals if e.end > end and (bound is None or e.end <= bound)]
        silent.append((max([end, *ends]), "silent"))
    running = [(begin, "running") for begin, _ in spans]
    return sorted([*turns, *silent, *running], key=lambda turn: (turn[0], _WEIGHTS[turn[1]]))


def _kept(
    runs: dict[int, list[Piece]], events: Sequence[Event], turns: Sequence[tuple[int, str]]
) -> dict[int, int | None]:
    firsts = {a: min(p.line.step - p.line.steps + 1 for p in run) for a, run in runs.items()}
    kept: dict[int, int | None] = {}
    saves = [e for e in events if e.phase == "checkpoint"]
    for attempt, run in runs.items():
        later = [first for other, first in firsts.items() if other > attempt]
        end, last = run[-1].line.end, run[-1].line.step
        failures = [at for at, kind in turns if kind == "failure" and at >= end]
        starts = [at for at, kind in turns if kind == "start" and at >= end]
        if later:
            kept[attempt] = min(later) - 1
        elif not failures or (starts and min(starts) < min(failures)):
            kept[attempt] = last
        elif not saves:
            kept[attempt] = None
        else:
            steps = []
            for save in saves:
                before = [p for r in runs.values() for p in r if p.line.end <= save.at]
                if before and run[0].begin <= save.end <= min(failures):
                    at = max(p.line.end for p in before)
                    steps += [p.line.step for p in before if p.line.end == at][-1:]
            fitting = [step for step in steps if firsts[attempt] <= step <= last]
            kept[attempt] = max(fitting, default=firsts[attempt] - 1)
    return kept


def _by_turn(now: int, turns: Sequence[tuple[int, str]], phases: set[str], usual_gap: int | None) -> str:
    past = [turn for turn in turns if turn[0] <= now]
    future = [turn for turn in turns if turn[0] > now]
    last = past[-1] if past else (now, "")
    following = future[0][1] if future else ""
    if last[1] == "start":
        return "start_up"
    if last[1] == "silent" and following == "failure":
        short = usual_gap is not None and future[0][0] - last[0] <= 2 * usual_gap
        return "lost" if short else "hang"
    if last[1] == "silent" and following in ("start", "running"):
        return "restart"
    if last[1] == "silent" and (following == "off" or "allocation" in phases):
        return "idle"
    if last[1] == "failure":
        return "restart" if any(kind in ("start", "running") for _, kind in future) else "idle"
    return "queue" if "queue" in phases else "not_submitted" if last[1] == "off" else "unattributed"
