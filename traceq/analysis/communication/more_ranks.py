"""Price collectives among another number of ranks, by latency and bandwidth of rings and trees.

A ring moves its share of the message over the slowest link and hops from rank to rank; a tree of nodes hops as often as
it is deep (Thakur et al., "Optimization of Collective Communication Operations in MPICH", 2005). Latencies are those by
which NCCL chooses between the two (src/graph/tuning.cc).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import ceil, log2, sqrt
from typing import TYPE_CHECKING, NamedTuple

from traceq.analysis.kernels.ceiling import STREAMED
from traceq.analysis.kernels.other_gpu import Rescaled, scale_part
from traceq.common.factor_range import SAME, FactorRange
from traceq.database.sql import statement

if TYPE_CHECKING:
    import duckdb

# Latency of a hop, ns, at the least and at the most, over the protocols and algorithms of NCCL: within a node over NVLink, and
# between nodes.
_LINK_HOP = (600.0, 4000.0)
_NETWORK_HOP = (2700.0, 14000.0)

# What a collective takes to begin, ns, in the same way.
_BEGIN = (6600.0, 14000.0)

# Of an all-reduce, its reduction and its distribution.
_PASSES = {"all_reduce": 2}

# Axes whose groups grow with the ranks of a data-parallel job; "world" are all ranks.
_GROWING = {"dp", "world"}

MOVED = ("all_reduce", "all_gather", "reduce_scatter", "all_to_all", "broadcast", "reduce", "gather", "scatter")


class Fabric(NamedTuple):
    """Links between ranks: ranks of a node, and the bandwidth per rank and direction, GB/s, within and between nodes."""

    ranks_per_node: int
    link: float | None
    network: float | None


class RecordedCollective(NamedTuple):
    """A row of more_ranks.sql: a collective on the GPU; `transfer` is what it takes when no rank comes late, if known."""

    slice_id: int
    op: str | None
    bytes: int | None
    group_name: str | None
    group_size: int | None
    axis: str | None
    transfer: float | None
    dur: float

    @property
    def transfer_dur(self) -> float:
        """Its time without waiting for other ranks as far as that is known, ns."""
        return min(self.dur, self.dur if self.transfer is None else self.transfer)

    @property
    def is_growing(self) -> bool:
        """Whether its group grows with the ranks of the job."""
        return bool(_GROWING & set((self.axis or "").split("+")))


class GrownGroup(NamedTuple):
    """A group that grows, or does not: its axis, its ranks before and then, and its collectives."""

    group_name: str | None
    axis: str | None
    ranks: int | None
    ranks_then: int | None
    collectives: int


class CannotScale(ValueError):
    """Error for collectives of which it cannot be told how long they would take among more ranks."""


class NeedsBandwidth(CannotScale):
    """Error for a link or a network whose bandwidth has to be given; `option` is link or network."""

    def __init__(self, option: str, ranks: int, nodes: int) -> None:
        super().__init__(f"{ranks} ranks are on {nodes} nodes")
        self.option, self.ranks, self.nodes = option, ranks, nodes


class _Placed(NamedTuple):
    """A group of `ranks` on `nodes`, and the bandwidth per rank and direction, GB/s; None if it is not known."""

    ranks: int
    nodes: int
    bandwidth: float | None


def read_collectives(connection: duckdb.DuckDBPyConnection, trace_id: int) -> list[RecordedCollective]:
    """Read the collectives of a trace."""
    found = connection.execute(statement("analysis/communication/more_ranks.sql"), {"trace_id": trace_id}).fetchall()
    return [RecordedCollective(*row) for row in found]


def group_collectives(collectives: Iterable[RecordedCollective], ranks: int, ranks_then: int) -> list[GrownGroup]:
    """Return the groups of the collectives, those that grow first, with their ranks before and then."""
    counts: dict[tuple[str | None, str | None, int | None, bool], int] = {}
    for one in collectives:
        key = (one.group_name, one.axis, one.group_size, one.is_growing)
        counts[key] = counts.get(key, 0) + 1
    found = [
        GrownGroup(name, axis, size, _grow_group(size, ranks, ranks_then) if size and grows else size, count)
        for (name, axis, size, grows), count in counts.items()
    ]
    return sorted(found, key=lambda group: (group.ranks == group.ranks_then, -group.collectives))


def price_collectives(
    collectives: Iterable[RecordedCollective], ranks: int, ranks_then: int, now: Fabric, then: Fabric
) -> dict[int, FactorRange]:
    """Return by slice_id the factors of the transfers of collectives whose groups grow with the job's ranks.

    The message stays as it is: gradients and parameters do not depend on how many ranks share the data. Raises
    CannotScale where bytes or sizes of such groups are not known, NeedsBandwidth where a bandwidth is.
    """
    found = {}
    for one in collectives:
        if not one.is_growing:
            continue
        if one.bytes is None or one.group_size is None or one.op not in MOVED:
            raise CannotScale(
                f"the bytes or the group of a data-parallel {one.op or 'collective'} are not in the trace"
            )
        others = max(ranks // one.group_size, 1)
        size = _grow_group(one.group_size, ranks, ranks_then)
        here, there = _place_group(one.group_size, others, now), _place_group(size, others, then)
        found[one.slice_id] = _price_transfer(one.op, one.bytes, one.transfer_dur, here, there)
    return found


def rescale_exchanges(collectives: Iterable[RecordedCollective], factors: Mapping[int, FactorRange]) -> list[Rescaled]:
    """Return the time of each collective on the same GPU, where its transfer changes by a factor; all others are kept."""
    found = []
    for one in collectives:
        then = scale_part(one.dur - one.transfer_dur, one.transfer_dur, factors.get(one.slice_id, SAME), SAME)
        found.append(Rescaled(one.slice_id, "communication", one.dur, then))
    return found


def _grow_group(size: int, ranks: int, ranks_then: int) -> int:
    """Return the size of a group that grows as the job does. Raises CannotScale if that is no whole number."""
    grown, rest = divmod(size * ranks_then, ranks)
    if rest or not grown:
        others = max(ranks // size, 1)
        raise CannotScale(f"a job of copies of {others} ranks cannot have {ranks_then}: give a multiple of {others}")
    return grown


def _place_group(size: int, others: int, fabric: Fabric) -> _Placed:
    """Return a group on its nodes; `others` ranks of the job lie between two of its own."""
    together = max(fabric.ranks_per_node // others, 1)
    nodes = ceil(size / together)
    if nodes <= 1:
        return _Placed(size, 1, fabric.link)
    between = None if fabric.network is None else fabric.network * min(together, size)
    limits = [limit for limit in (between, fabric.link if together > 1 else None) if limit is not None]
    return _Placed(size, nodes, min(limits) if between is not None else None)


def _price_transfer(op: str, bytes_: int, moved: float, now: _Placed, then: _Placed) -> FactorRange:
    """Return the factor of a transfer that takes `moved` ns in the first group, in the second one."""
    if then == now:
        return FactorRange(1, 1, 1)
    if then.ranks <= 1 or not moved:
        return FactorRange(0, 0, 0)
    if now.ranks <= 1:
        # alone it sent nothing: the recorded time tells nothing of the links
        return FactorRange(*(time / moved for time in _require_model(op, bytes_, then)))
    grown = _scale_recorded(op, moved, now, then)
    if (then.nodes > 1) == (now.nodes > 1):
        # an unknown part of it may have been waiting for ranks: then only what the model adds comes on top
        first, second = _model_time(op, bytes_, now), _model_time(op, bytes_, then)
        added = 0.0 if first is None or second is None else max(second.low - first.low, 0.0)
        times = FactorRange(min(grown.low, moved + added), grown.likely, grown.high)
    else:
        model = _require_model(op, bytes_, then)
        # what is slower than its links now will hardly be faster on more nodes
        slower = grown if then.nodes > 1 else model
        times = FactorRange(model.low, max(model.likely, slower.likely), max(model.high, slower.high))
    return FactorRange(*(time / moved for time in times))


def _require_model(op: str, bytes_: int, group: _Placed) -> FactorRange:
    """Return the time of a collective by the model, ns. Raises NeedsBandwidth where a bandwidth has to be given."""
    model = _model_time(op, bytes_, group)
    if model is None:
        raise NeedsBandwidth("network" if group.nodes > 1 else "link", group.ranks, group.nodes)
    return model


def _scale_recorded(op: str, moved: float, now: _Placed, then: _Placed) -> FactorRange:
    """Return the time of a transfer of `moved` ns among other ranks if the links are as fast as the trace shows, ns."""
    grown = _count_sent(op, then.ranks) / _count_sent(op, now.ranks)
    if (then.nodes > 1) == (now.nodes > 1) and now.bandwidth and then.bandwidth:
        grown *= now.bandwidth / then.bandwidth
    times = []
    for first, second in zip(_find_latencies(op, now), _find_latencies(op, then), strict=True):
        # no transfer was shorter than its latency: the recorded one limits how much of it that is
        times.append(second * min(1, moved / first) + max(moved - first, 0) * grown)
    return FactorRange(min(times), times[1], max(times))


def _model_time(op: str, bytes_: int, group: _Placed) -> FactorRange | None:
    """Return the time of a collective by latency and bandwidth alone, ns; None where the bandwidth is not known."""
    if group.bandwidth is None:
        return None
    sent = _count_sent(op, group.ranks) * bytes_ / group.bandwidth
    low, likely, high = _find_latencies(op, group)
    return FactorRange(low + sent, likely + sent / sqrt(STREAMED), high + sent / STREAMED)


def _count_sent(op: str, ranks: int) -> float:
    """Return what a rank sends in a ring, as a share of the message: nccl-tests' factors."""
    if op in ("broadcast", "reduce"):
        return 1
    return _PASSES.get(op, 1) * (ranks - 1) / ranks


def _find_latencies(op: str, group: _Placed) -> FactorRange:
    """Return the latency of a collective, ns: of a ring or a tree, whichever is less."""
    early, late = (_add_hops(op, group, slowest) for slowest in (0, 1))
    return FactorRange(early, sqrt(early * late), late)


def _add_hops(op: str, group: _Placed, slowest: int) -> float:
    """Return the latency of a collective with the least (0) or the most (1) latency of a hop, ns."""
    passes = _PASSES.get(op, 1)
    inside, between = _LINK_HOP[slowest], _NETWORK_HOP[slowest]
    hops = passes * (group.nodes - 1)
    ring = (passes * (group.ranks - 1) - hops) * inside + hops * between
    if op != "all_reduce":
        return _BEGIN[slowest] + ring
    tree = passes * ((group.ranks / group.nodes - 1) * inside + log2(group.nodes) * between)
    return _BEGIN[slowest] + min(ring, tree)
