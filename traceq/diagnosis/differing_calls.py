"""Advice about ranks that do not call the same collectives, in a trace or in dumps of a hang."""

from __future__ import annotations


def advise_on_difference(ranks: str, place: str) -> str:
    """Return what to look for where `ranks` (in words) differ from others at `place`, the words for a collective."""
    return (
        f"Find out what makes {ranks} skip, add or resize {place} or an earlier one: a branch "
        "on rank, data or loss, or a different number of batches or parameters. "
        "`TORCH_DISTRIBUTED_DEBUG=DETAIL` stops at the first difference."
    )
