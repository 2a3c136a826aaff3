"""The judgement on a hanging job."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from traceq.common.ranks import list_ranks
from traceq.diagnosis.finding import Confidence
from traceq.diagnosis.hang.facts import (
    ask_hang,
    read_current,
    read_dumps,
    read_groups,
    read_partings,
    read_stacked_call,
)
from traceq.diagnosis.hang.model import MISMATCHES, DumpFacts, GroupProgress, Hang, Kind, Parting, RankPlace
from traceq.diagnosis.hang.waits import find_beginnings, find_waits, is_unknown

if TYPE_CHECKING:
    import duckdb

Variant = tuple[str, str, int | None]

_FAR_AWAY = 1 << 62
# Circles of more places are judged by the first of these.
_MOST_COMPARED = 64


class Beginning(NamedTuple):
    """The begin of a hang: the parting, its kind, the ranks that make it, how sure that is and why.

    `is_one_of_two`: either those ranks left the call out, or those that wait in it called one too many.
    """

    parting: Parting
    kind: Kind
    culprits: tuple[int, ...]
    confidence: Confidence
    reason: str
    is_one_of_two: bool = False

    @property
    def rank_order(self) -> tuple[int, int]:
        """By which the first of several is chosen: what the dumps show before what they lack, then by time."""
        shown = 1 if self.kind in ("no_dump", "late") else 2 if self.kind == "in_flight" else 0
        created = self.parting.first_created
        return shown, _FAR_AWAY if created is None else created


def find_hang(connection: duckdb.DuckDBPyConnection) -> Hang:
    """Judge the dumps in the tables of analysis/hang."""
    groups = read_groups(connection)
    dumps = read_dumps(connection)
    partings = read_partings(connection, groups)
    real = _drop_in_flight(partings)
    beginnings = [_judge_beginning(connection, real, places) for places in find_beginnings(real)]
    beginnings.sort(key=lambda beginning: beginning.rank_order)
    progress = _order_progress(real, beginnings[0].parting if beginnings else None)
    cannot_tell = tuple(_list_doubts(partings, dumps))
    if not beginnings:
        why = "All ranks called the same collectives, and none of them waits in one"
        return Hang(
            "none",
            None,
            (),
            (),
            _lower_confidence("high", cannot_tell),
            why,
            (),
            progress,
            tuple(groups.values()),
            dumps,
            cannot_tell,
        )
    first = beginnings[0]
    return Hang(
        first.kind,
        first.parting,
        first.culprits,
        tuple(_find_places(connection, first)),
        _lower_confidence(first.confidence, cannot_tell),
        first.reason,
        # where the same ranks are missing, it is the same
        tuple(other.parting for other in beginnings[1:] if not {*other.culprits} <= {*first.culprits}),
        progress,
        tuple(groups.values()),
        dumps,
        cannot_tell,
        first.is_one_of_two,
    )


def _drop_in_flight(partings: Sequence[Parting]) -> Sequence[Parting]:
    """Return the partings without those that lack nobody, unless nothing else hangs or ranks that others lack wait there."""
    lacking = {rank for parting in partings for rank in parting.lacking}
    kept = [parting for parting in partings if parting.differs != "none" or lacking & {*parting.waiting_ranks}]
    return kept or partings


def _judge_beginning(
    connection: duckdb.DuckDBPyConnection, partings: Sequence[Parting], places: Sequence[int]
) -> Beginning:
    """Return what is said of a place at which a hang begins, or of a circle of places."""
    if len(places) > 1:
        return _judge_circle(connection, partings, places[:_MOST_COMPARED])
    parting = partings[places[0]]
    if parting.differs in MISMATCHES:
        return _judge_mismatch(connection, parting)
    if parting.differs == "none":
        reason = "All ranks of the group called the same, so that nobody is missing"
        return Beginning(parting, "in_flight", (), "medium", reason)
    absent = parting.without_dump
    free = tuple(rank for rank, waits in find_waits(partings)[places[0]].items() if not waits)
    if not (absent or free):
        reason = "No dump tells of the others whether they came, or who they are"
        return Beginning(parting, "no_dump", (), "low", reason)
    if absent:
        reason = "A rank without a dump may have come, or not: its place is where the others wait"
        return Beginning(parting, "no_dump", (*absent, *free), "medium", reason)
    reason = "Its own dump shows no call after the last one that is finished, and none that it waits for"
    return Beginning(parting, "late", free, "medium", reason)


def _judge_mismatch(connection: duckdb.DuckDBPyConnection, parting: Parting) -> Beginning:
    """Return which ranks have another operation, size or type: those that are fewer, here or in copies of the group."""
    kind: Kind = parting.differs  # type: ignore[assignment]
    variants: dict[Variant, list[int]] = {}
    for call in parting.calls:
        variants.setdefault((call.op, call.types, call.equal_elements), []).append(call.rank)
    usual = next((variant for variant, ranks in variants.items() if 2 * len(ranks) > len(parting.group.members)), None)
    reason = "Most ranks of the group have the same"
    if usual is None:
        usual, reason = _find_usual_of_copies(connection, parting, variants), "Copies of the group have the same"
    if usual is None:
        reason = "No variant is that of most ranks, so that nothing tells which is right"
        return Beginning(parting, kind, parting.present_ranks, "medium", reason)
    odd = sorted(rank for variant, ranks in variants.items() if variant != usual for rank in ranks)
    return Beginning(parting, kind, tuple(odd), "high", reason)


def _find_usual_of_copies(
    connection: duckdb.DuckDBPyConnection, parting: Parting, variants: dict[Variant, list[int]]
) -> Variant | None:
    """Return the variant that most ranks of the copies of a group have at the same number; None where none has most."""
    rows = ask_hang(
        connection,
        "variants",
        sequence=parting.sequence,
        group_id=parting.group.group_id,
        description=parting.group.description,
    )
    ranks = Counter({(row["op"], row["types"], row["equal_elements"]): row["ranks"] for row in rows})
    usual, most = ranks.most_common(1)[0]
    return usual if usual in variants and 2 * most > ranks.total() else None


def _judge_circle(
    connection: duckdb.DuckDBPyConnection, partings: Sequence[Parting], places: Sequence[int]
) -> Beginning:
    """Return where a circle of waiting ranks begins: where the missing ranks differ most from others that ran the same.

    A rank that waits in another group left the call out, or makes it later, if ranks that came as far had made it.
    """
    waits = find_waits(partings)
    places = [index for index in places if not is_unknown(partings[index])]
    scores = {index: _score_place(connection, partings, index, waits[index]) for index in places}

    def get_preference(index: int) -> tuple[float, float, int]:
        parting = partings[index]
        absent = len(parting.lacking) / max(1, len(parting.group.members))
        created = parting.first_created
        return (-scores[index], absent if scores[index] else 0.0, _FAR_AWAY if created is None else created)

    chosen = min(places, key=get_preference)
    parting = partings[chosen]
    if scores[chosen] > 0:
        reason = "Other ranks that made the call in which it waits had made this one before"
        return Beginning(parting, "elsewhere", parting.lacking, "high", reason)
    reason = "Ranks wait for each other in a circle, and nothing like it elsewhere tells who is right"
    return Beginning(parting, "elsewhere", parting.lacking, "medium", reason, is_one_of_two=True)


def _score_place(
    connection: duckdb.DuckDBPyConnection, partings: Sequence[Parting], index: int, waits: dict[int, list[int]]
) -> int:
    """Return how many more ranks made a place's call before the one in which its missing ranks wait, than did not."""
    parting = partings[index]
    score = 0
    seen = set()
    for rank, places in waits.items():
        for place in places:
            role = (partings[place].group.description, partings[place].sequence)
            if role in seen:
                continue
            seen.add(role)
            (row,) = ask_hang(
                connection,
                "order",
                rank=rank,
                earlier_group=parting.group.group_id,
                earlier_sequence=parting.sequence,
                later_group=partings[place].group.group_id,
                later_sequence=partings[place].sequence,
            )
            score += row["had_made"] - row["had_not"]
    return score


def _find_places(connection: duckdb.DuckDBPyConnection, beginning: Beginning) -> list[RankPlace]:
    """Return where the culprits are, those that are at the same place together, and where one of the others waits."""
    parting = beginning.parting
    others = [call for call in parting.calls if call.rank not in beginning.culprits]
    at_parting = {call.rank: call for call in parting.calls}
    current = read_current(connection, [rank for rank in beginning.culprits if rank not in at_parting])
    places = []
    for rank in beginning.culprits:
        call = current.get(rank)
        if rank in at_parting:
            call = read_stacked_call(connection, at_parting[rank])
        elif call is not None and call.state == "ended" and beginning.kind == "late":
            # gloo does not tell, but nobody is missing there
            call = replace(call, state="finished")
        places.append(RankPlace((rank,), call))
    merged = _merge_places(places)
    if not others and merged:
        return merged
    waiting = min(others or parting.calls, key=lambda call: (call.is_finished, call.rank))
    ranks = tuple(call.rank for call in others or parting.calls)
    return [*merged, RankPlace(ranks, read_stacked_call(connection, waiting))]


def _merge_places(places: Sequence[RankPlace]) -> list[RankPlace]:
    """Return one place for all ranks that are at the same, and the other places."""

    def get_place(place: RankPlace) -> tuple[str, ...]:
        call = place.call
        if call is None:
            return ()
        return (
            str(call.group_id),
            str(call.sequence),
            call.op,
            call.state,
            call.sizes,
            call.types,
            str(call.stack[:1]),
        )

    merged = []
    for _, alike in groupby(sorted(places, key=get_place), key=get_place):
        same = sorted(alike, key=lambda place: place.ranks)
        merged.append(RankPlace(tuple(rank for place in same for rank in place.ranks), same[0].call))
    return sorted(merged, key=lambda place: (-len(place.ranks), place.ranks))


def _order_progress(partings: Sequence[Parting], first: Parting | None) -> tuple[GroupProgress, ...]:
    """Return the groups in which ranks part, first the one in which it begins, then by time."""

    def get_order(parting: Parting) -> tuple[bool, int]:
        return parting is not first, _FAR_AWAY if parting.first_created is None else parting.first_created

    return tuple(GroupProgress(parting, parting is first) for parting in sorted(partings, key=get_order))


def _list_doubts(partings: Sequence[Parting], dumps: DumpFacts) -> list[str]:
    """Return sentences on what the dumps do not tell."""
    doubts = []
    if dumps.missing:
        doubts.append(f"No dump of {list_ranks(dumps.missing)}: stopped before it was written, or it lies elsewhere.")
    if dumps.outdated:
        doubts.append(
            f"An earlier time: {list_ranks(dumps.outdated)} wrote one dump, older than the latest of ranks that wrote"
            " several. If it is of an earlier hang, name the dumps of one hang only."
        )
    unknown = sorted({rank for parting in partings for rank in parting.unknown})
    if unknown:
        doubts.append(
            f"The recorders of {list_ranks(unknown)} had overwritten all that they called in a group that hangs: set"
            " TORCH_FR_BUFFER_SIZE to more entries."
        )
    if any(parting.group.source == "seen" for parting in partings):
        doubts.append("The dumps do not list the members of groups: those count that called something in one.")
    if "gloo" in dumps.backends:
        doubts.append("gloo records no sends and receives: a rank that seems to wait nowhere may wait in one.")
    return doubts


def _lower_confidence(confidence: Confidence, doubts: Sequence[str]) -> Confidence:
    """Return the confidence, medium at most where the dumps of ranks are missing, or do not tell enough."""
    is_partial = any(doubt.startswith(("No dump", "An earlier time", "The recorders")) for doubt in doubts)
    return "medium" if is_partial and confidence == "high" else confidence
