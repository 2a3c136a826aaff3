"""The critical path of the counted steps."""

from __future__ import annotations

import msgspec


class PathSummary(msgspec.Struct, frozen=True):
    """The critical path of the counted steps that were replayed: their number, its length, and its unexplained part, ns.

    The errors are the differences between replayed and recorded steps, as shares of the recorded ones.
    """

    steps: int
    dur_ns: int
    unexplained_ns: int | None
    median_error_share: float | None
    largest_error_share: float | None


class PathPart(msgspec.Struct, frozen=True):
    """The time of the critical path of one kind (host, gpu, transfer, wait) and cause (a category of the ledger)."""

    kind: str
    cause: str
    dur_ns: int
    unexplained_ns: int
    path_share: float


class PathName(msgspec.Struct, frozen=True):
    """The slices of one name and operator on the critical path, with their time and its share of the path.

    `modules` is the number of modules they are in, `module` the one with most time.
    """

    kind: str
    name: str
    operator: str | None
    module: str | None
    modules: int
    dur_ns: int
    path_share: float


class PathTopic(msgspec.Struct, frozen=True):
    """The critical path of the steps; `parts` add up to it, `names` are the --top longest."""

    summary: PathSummary
    parts: tuple[PathPart, ...]
    names: tuple[PathName, ...]
