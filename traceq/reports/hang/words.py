"""Words about a hanging job: its groups, calls, ranks and stacks."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from datetime import UTC, datetime
from itertools import pairwise

from traceq.common.ranks import list_ranks
from traceq.common.text import printable, shortened
from traceq.diagnosis.hang.model import CallFrame, Hang, Parting, RankCall, RankGroup

_LONGEST_NAME = 40
# Fewer ranks at equal distances are listed.
_LEAST_EVERY = 4
# What belongs to libraries is not where a program calls.
_OF_LIBRARY = ("site-packages/", "dist-packages/", "/torch/", "<frozen", "<string>", "/lib/python3", "python3.")


def name_group(group: RankGroup) -> str:
    """Return what a group is called: "group tp", "the world"."""
    if group.description == "default_pg":
        return "the world"
    name = group.name if group.description in ("", "undefined") else group.description
    return f"group {shortened(printable(name), _LONGEST_NAME)}"


def name_place(group: RankGroup, call: RankCall) -> str:
    """Return what a rank called, and where: "all_reduce #17 of group tp (ranks 0-3)"."""
    op = shortened(printable(call.op), _LONGEST_NAME)
    if group.source == "pair":
        sender, receiver = group.members
        return f"{op} #{call.sequence} from rank {sender} to rank {receiver} ({name_group(group)})"
    return f"{op} #{call.sequence} of {name_group(group)}{name_members(group)}"


def name_members(group: RankGroup) -> str:
    """Return the members of a group in parentheses, behind a space; empty for the world."""
    if group.description == "default_pg":
        return ""
    is_partial = len(group.members) == 1 if group.size is None else len(group.members) < group.size
    return f" ({list_members(group.members)}{' and others' if is_partial else ''})"


def name_parting(parting: Parting) -> str:
    """Return the place at which a group parts, by what most of those that are there called."""
    ops = [call.op for call in parting.calls]
    usual = max(parting.calls, key=lambda call: ops.count(call.op))
    return name_place(parting.group, usual)


def find_source_line(stack: Sequence[CallFrame]) -> str | None:
    """Return file and line of the innermost frame that belongs to no library: "train.py:88"; None without a stack."""
    own = [frame for frame in stack if not any(part in frame.file for part in _OF_LIBRARY)]
    frames = own or list(stack)
    return f"{printable(frames[0].file)}:{frames[0].line}" if frames else None


def name_where(call: RankCall) -> str:
    """Return where the program made a call, behind a comma; empty where the dump has no stack."""
    line = find_source_line(call.stack)
    return "" if line is None else f", at {line}"


def list_members(ranks: Collection[int]) -> str:
    """Return ranks as text, as list_ranks does; of those at equal distances the first and the last: "every 8th of 3-507"."""
    ordered = sorted(ranks)
    steps = {after - before for before, after in pairwise(ordered)}
    if len(ordered) < _LEAST_EVERY or len(steps) != 1 or steps == {1}:
        return list_ranks(ordered)
    return f"every {_write_ordinal(steps.pop())} of ranks {ordered[0]}-{ordered[-1]}"


def _write_ordinal(number: int) -> str:
    ending = {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th") if number // 10 % 10 != 1 else "th"
    return f"{number}{ending}"


def list_numbers(ranks: Collection[int]) -> str:
    """Return ranks without the word: "0-3, 6"; "-" for none."""
    return list_members(ranks).replace("ranks ", "").removeprefix("rank ") or "-"


def capitalize_first(text: str) -> str:
    """Return the text with a capital first letter."""
    return text[:1].upper() + text[1:]


def format_time(ns: int | None) -> str:
    """Return a time of the hosts' clocks as text, in UTC; empty where it is unknown."""
    return "" if ns is None else datetime.fromtimestamp(ns // 1_000_000_000, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def describe_variant(hang: Hang, call: RankCall) -> str:
    """Return what a rank has at the place where ranks differ in what they call."""
    if hang.kind == "sizes":
        total = f" ({call.equal_elements or 0:,} elements)" if re.search("[x,]", call.sizes) else ""
        return f"size {printable(call.sizes)}{total}" if call.sizes else "no tensor"
    if hang.kind == "types":
        return printable(call.types) or "no type"
    return printable(call.op)
