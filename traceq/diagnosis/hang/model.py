"""The judgement on a hanging job, as records."""

from __future__ import annotations

from typing import Literal

import msgspec

from traceq.diagnosis.finding import Confidence

# operation, sizes, types: ranks have others. elsewhere: a rank waits in another group and never came. late: it waits nowhere.
# no_dump: nothing is known of it. in_flight: all came, and it does not end. none: nothing hangs.
Kind = Literal["operation", "sizes", "types", "elsewhere", "late", "no_dump", "in_flight", "none"]
MISMATCHES = ("operation", "sizes", "types")


class CallFrame(msgspec.Struct, frozen=True):
    """A frame of a Python stack."""

    name: str
    file: str
    line: int


class RankGroup(msgspec.Struct, frozen=True):
    """A group of ranks. `description` is what the program calls it, `source` what tells the members (hang_group)."""

    group_id: int
    name: str
    description: str
    members: tuple[int, ...]
    source: str
    size: int | None


class RankCall(msgspec.Struct, frozen=True):
    """A call of a rank: a collective, or a send or receive, by its number in its group; `created` is ns since 1970."""

    rank: int
    group_id: int
    sequence: int
    record: int
    op: str
    sizes: str
    types: str
    equal_elements: int | None
    state: str
    created: int | None
    stack: tuple[CallFrame, ...] = ()

    @property
    def is_finished(self) -> bool:
        """Whether its result was there."""
        return self.state == "finished"


class Parting(msgspec.Struct, frozen=True):
    """The first place at which the ranks of a group differ, or wait for each other; see hang_parting.

    `queued` are ranks that called it behind another one that waits on their GPU.
    """

    group: RankGroup
    sequence: int
    differs: str
    calls: tuple[RankCall, ...]
    lacking: tuple[int, ...]
    without_dump: tuple[int, ...]
    unknown: tuple[int, ...]
    first_created: int | None
    queued: tuple[int, ...] = ()

    @property
    def present_ranks(self) -> tuple[int, ...]:
        """The ranks that called it and came to it, in order."""
        return tuple(call.rank for call in self.calls)

    @property
    def waiting_ranks(self) -> tuple[int, ...]:
        """The ranks that wait there, or failed there."""
        return tuple(call.rank for call in self.calls if not call.is_finished)


class RankPlace(msgspec.Struct, frozen=True):
    """Ranks that are at the same place: `call` is where one of them waits, else what it called last; None without a dump."""

    ranks: tuple[int, ...]
    call: RankCall | None


class GroupProgress(msgspec.Struct, frozen=True):
    """A group whose ranks differ; `is_first` where the hang begins there."""

    parting: Parting
    is_first: bool


class DumpFacts(msgspec.Struct, frozen=True):
    """The dumps that were read: their ranks, how many entries, ranks without one, and what is wrong as (file, why).

    `rolled` are ranks whose recorder had overwritten earlier entries, `outdated` those with one dump that may be of an
    earlier time than the dumps of the others.
    """

    ranks: tuple[int, ...]
    entries: int
    missing: tuple[int, ...]
    rolled: tuple[int, ...]
    faults: tuple[tuple[str, str], ...]
    backends: tuple[str, ...]
    outdated: tuple[int, ...] = ()


class Hang(msgspec.Struct, frozen=True):
    """The judgement: the kind, the place at which it began, and which ranks make it (`culprits`).

    `is_one_of_two` is set where nothing tells whether the culprits left the call out, or those that wait in it
    called one too many. `others` are further places at which a hang begins on its own.
    """

    kind: Kind
    first: Parting | None
    culprits: tuple[int, ...]
    places: tuple[RankPlace, ...]
    confidence: Confidence | None
    reason: str
    others: tuple[Parting, ...]
    progress: tuple[GroupProgress, ...]
    groups: tuple[RankGroup, ...]
    dumps: DumpFacts
    cannot_tell: tuple[str, ...]
    is_one_of_two: bool = False
