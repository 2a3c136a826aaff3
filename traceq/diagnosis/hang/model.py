"""What is said of a hanging job."""

from __future__ import annotations

from typing import Literal

import msgspec

from traceq.diagnosis.finding import Confidence

# operation, sizes, types: ranks have others. elsewhere: a rank waits in another group and never came. late: it waits nowhere.
# no_dump: nothing is known of it. in_flight: all came, and it does not end. none: nothing hangs.
Kind = Literal["operation", "sizes", "types", "elsewhere", "late", "no_dump", "in_flight", "none"]
MISMATCHES = ("operation", "sizes", "types")


class StackFrame(msgspec.Struct, frozen=True):
    """A frame of a Python stack."""

    name: str
    file: str
    line: int


class Group(msgspec.Struct, frozen=True):
    """A group of ranks. `description` is what the program calls it, `source` what tells the members (hang_group)."""

    group_id: int
    name: str
    description: str
    members: tuple[int, ...]
    source: str
    size: int | None


class Call(msgspec.Struct, frozen=True):
    """What a rank called: a collective, or a send or receive, by its number in its group; `created` is ns since 1970."""

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
    stack: tuple[StackFrame, ...] = ()

    @property
    def is_finished(self) -> bool:
        """Whether its result was there."""
        return self.state == "finished"


class Parting(msgspec.Struct, frozen=True):
    """The first place at which the ranks of a group differ, or wait for each other; see hang_parting."""

    group: Group
    sequence: int
    differs: str
    calls: tuple[Call, ...]
    lacking: tuple[int, ...]
    without_dump: tuple[int, ...]
    unknown: tuple[int, ...]
    first_created: int | None

    @property
    def present(self) -> tuple[int, ...]:
        """The ranks that called it, in order."""
        return tuple(call.rank for call in self.calls)

    @property
    def waiting(self) -> tuple[int, ...]:
        """The ranks that wait there, or failed there."""
        return tuple(call.rank for call in self.calls if not call.is_finished)


class RankPlace(msgspec.Struct, frozen=True):
    """Ranks that are at the same place: `call` is where one of them waits, else what it called last; None without a dump."""

    ranks: tuple[int, ...]
    call: Call | None


class GroupProgress(msgspec.Struct, frozen=True):
    """How far the ranks of a group are, where they differ."""

    parting: Parting
    is_first: bool


class DumpFacts(msgspec.Struct, frozen=True):
    """The dumps that were read: their ranks, how many entries, ranks without one, and what is wrong as (file, why).

    `rolled` are ranks whose recorder had overwritten earlier entries.
    """

    ranks: tuple[int, ...]
    entries: int
    missing: tuple[int, ...]
    rolled: tuple[int, ...]
    faults: tuple[tuple[str, str], ...]
    backends: tuple[str, ...]


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
    groups: tuple[Group, ...]
    dumps: DumpFacts
    cannot_tell: tuple[str, ...]
    is_one_of_two: bool = False
