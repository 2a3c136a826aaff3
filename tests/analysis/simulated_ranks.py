"""A job made up rank by rank: each works, then takes part in a collective; the simulator is its own what-if."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from traceq.analysis.job.graph import Members
from traceq.analysis.job.window import JobSlices

# own(rank, step, place) in ns.
Own = Callable[[int, int, int], float]


@dataclass
class MadeUpJob:
    """`program` has the collectives of a step, each as its groups of ranks; `transfer` is what each takes when all are there.

    `own` is what a rank works before its part in one. Clocks of ranks are off by `offset` and run `drift` faster.
    """

    ranks: int
    steps: int
    program: Sequence[Sequence[Sequence[int]]]
    own: Own
    transfer: float = 500_000.0
    jitter: float = 0.0
    offset: Sequence[float] = ()
    drift: Sequence[float] = ()
    seed: int = 1
    rows: list[tuple[int, ...]] = field(default_factory=list)

    def lasts(self, own: Own | None = None) -> float:
        """How long the job takes, ns, if ranks worked as `own` says."""
        works = own or self.own
        now = [0.0] * self.ranks
        for step in range(self.steps):
            for place, groups in enumerate(self.program):
                for group in groups:
                    end = max(now[rank] + works(rank, step, place) for rank in group) + self.transfer
                    for rank in group:
                        now[rank] = end
        return max(now)

    def slices(self) -> JobSlices:
        """What profilers of all ranks would record of its collectives."""
        random = np.random.default_rng(self.seed)
        now = [0.0] * self.ranks
        rows = []
        match = 0
        for step in range(self.steps):
            for place, groups in enumerate(self.program):
                for number, group in enumerate(groups):
                    starts = {rank: now[rank] + self.own(rank, step, place) for rank in group}
                    end = max(starts.values()) + self.transfer
                    for rank in group:
                        now[rank] = end
                        seen = end + random.uniform(-self.jitter, self.jitter)
                        rows.append(
                            (
                                rank,
                                self._to_local(rank, starts[rank]),
                                self._to_local(rank, seen),
                                match,
                                step,
                                100 * place + number,
                            )
                        )
                    match += 1
        unit, start, end_, match_of, step_of, group_of = (np.array(column) for column in zip(*rows, strict=True))
        whole = [column.astype(np.int64) for column in (unit, start, end_, match_of, step_of, group_of)]
        members = Members(
            whole[0], np.zeros(len(rows), np.int64), whole[1], whole[2], whole[3], np.ones(len(rows), bool)
        )
        zeros = np.zeros(len(rows), np.int64)
        return JobSlices(
            members,
            zeros,
            whole[5],
            whole[5] // 100,
            whole[4],
            np.ones(len(rows), bool),
            *(np.zeros(len(rows), bool) for _ in range(3)),
        )

    def _to_local(self, rank: int, time: float) -> float:
        offset = self.offset[rank] if len(self.offset) else 0.0
        drift = self.drift[rank] if len(self.drift) else 0.0
        return round(time + offset + drift * time) + 10**12


def make_noise(seed: int, scale: float = 0.02) -> Own:
    """Return work of about 1 ms before each collective."""

    def draw_own(rank: int, step: int, place: int) -> float:
        random = np.random.default_rng((seed, rank, step, place))
        return float(1_000_000 * (1 + scale * random.standard_normal()))

    return draw_own
