"""What NCCL says of a process: its rank."""

from __future__ import annotations

from typing import NamedTuple


class Member(NamedTuple):
    """A process in a communicator: its rank there, and how many ranks that has; None where it is not known, or several."""

    rank: int | None
    ranks: int | None
