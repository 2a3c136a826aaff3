"""From a dump to the rows of traceq's tables."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from traceq.errors import UnusableTrace
from traceq.importers.flight_recorder.entries import EntryFacts, EntryRows
from traceq.importers.flight_recorder.json_dump import read_json
from traceq.importers.flight_recorder.names import rank_in_name
from traceq.importers.flight_recorder.pickled_dump import DumpReader
from traceq.importers.packed import DAMAGED, open_unpacked
from traceq.importers.pickled import Malformed, Pairs, Truncated

_DAMAGED: tuple[type[Exception], ...] = (Malformed, *DAMAGED)
_CUT: tuple[type[Exception], ...] = (Truncated, *DAMAGED)
_WHOLE, _TEXT, _TRUTH = pa.int64(), pa.string(), pa.bool_()
_MOST_JSON = 1 << 30
_MOST_RANKS = 1 << 20
_NUMBER = re.compile(r"\d{1,7}")
_MAJOR = re.compile(r"2\.\d+")

SCHEMAS = {
    "recorded_dump": pa.schema({
        "path": _TEXT, "rank": _WHOLE, "rank_source": _TEXT, "format": _TEXT, "version": _TEXT, "entries": _WHOLE,
        "first_record": _WHOLE, "last_created": _WHOLE, "has_parts": _TRUTH, "fault": _TEXT,
    }),
    "recorded_group": pa.schema({"rank": _WHOLE, "name": _TEXT, "description": _TEXT, "member": _WHOLE}),
    "recorded_stack": pa.schema({
        "rank": _WHOLE, "stack_id": _WHOLE, "depth": _WHOLE, "name": _TEXT, "file": _TEXT, "line": _WHOLE,
    }),
    "recorded_call": pa.schema({
        "rank": _WHOLE, "record": _WHOLE, "sequence": _WHOLE, "p2p_sequence": _WHOLE, "op_number": _WHOLE,
        "created": _WHOLE, "started": _WHOLE, "completed": _WHOLE, "fact_id": _WHOLE,
    }),
    "recorded_fact": pa.schema({
        "rank": _WHOLE, "fact_id": _WHOLE, "group_name": _TEXT, "group_description": _TEXT, "group_number": _WHOLE,
        "backend": _TEXT, "op": _TEXT, "from_member": _WHOLE, "to_member": _WHOLE, "is_p2p": _TRUTH, "input_sizes": _TEXT,
        "output_sizes": _TEXT, "input_types": _TEXT, "output_types": _TEXT, "input_elements": _WHOLE,
        "output_elements": _WHOLE, "state": _TEXT, "is_retired": _TRUTH, "timeout": _WHOLE, "stack_id": _WHOLE,
    }),
}  # fmt: skip


class _ReadContent(NamedTuple):
    """A dump without its entries, the format it is in, and why it is not whole; None where it is."""

    whole: Mapping[Any, Any]
    format: str
    fault: str | None


def read_dump(path: Path) -> Iterator[tuple[str, pa.RecordBatch]]:
    """Yield (table, batch) of a dump; see traceq.importers.flight_recorder.read_tables."""
    entries = EntryRows()
    try:
        content = _read_content(path, entries)
        version = _check_version(content, entries)
        groups = list(_list_members(content.whole))
    except _DAMAGED as error:
        raise UnusableTrace(f"{path}: cannot be read as a dump of PyTorch's flight recorder: {error}") from None
    except OSError as error:
        raise UnusableTrace(f"{path}: cannot be read: {error.strerror}") from None
    rank, source = _find_rank(path, content.whole)
    numbers = entries.numbers
    first = min((number for number in numbers[0] if number is not None), default=None)
    last = max((time for time in numbers[4] if time is not None), default=None)
    facts = [(place, *fact) for fact, place in entries.facts.items()]
    frames = [(number, depth, *frame) for stack, number in entries.stacks.items() for depth, frame in enumerate(stack)]
    dump = (str(path), rank, source, content.format, version, len(entries.places), first, last, _has_parts(entries))
    yield "recorded_dump", _build_batch("recorded_dump", [(value,) for value in (*dump, content.fault)])
    yield "recorded_group", _build_batch("recorded_group", _with_rank(rank, groups, 3))
    yield "recorded_stack", _build_batch("recorded_stack", _with_rank(rank, frames, 5))
    yield "recorded_fact", _build_batch("recorded_fact", _with_rank(rank, facts, 1 + len(EntryFacts._fields)))
    yield "recorded_call", _build_batch("recorded_call", [[rank] * len(entries.places), *numbers, entries.places])


def _has_parts(entries: EntryRows) -> bool:
    """Return whether several collectives of a group share a number, as the parts of a coalesced one do."""
    groups = [(fact.group_name, fact.group_description) for fact in entries.facts if not fact.is_p2p]
    names = {group: number for number, group in enumerate(dict.fromkeys(groups))}
    group_of = [-1 if fact.is_p2p else names[fact.group_name, fact.group_description] for fact in entries.facts]
    sequences = zip(map(group_of.__getitem__, entries.places), entries.numbers[1], strict=True)
    collectives = [(group, sequence) for group, sequence in sequences if group >= 0]
    return len(set(collectives)) < len(collectives)


def _with_rank(rank: int | None, rows: list[tuple[Any, ...]], width: int) -> list[Any]:
    """Return the columns of rows of `width` values, behind a column with the rank."""
    columns = list(zip(*rows, strict=True)) if rows else [()] * width
    return [[rank] * len(rows), *columns]


def _build_batch(table: str, columns: list[Any]) -> pa.RecordBatch:
    schema = SCHEMAS[table]
    arrays = [pa.array(values, kind) for values, kind in zip(columns, schema.types, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _read_content(path: Path, entries: EntryRows) -> _ReadContent:
    """Read a dump; its entries become rows of `entries`. Of a pickle that ends too early the whole ones do.

    Raises Malformed where nothing can be read.
    """
    with open_unpacked(path) as file:
        head = file.read(1)
        if not head:
            raise Malformed("it is empty: the rank was stopped before it wrote anything")
        if head in (b"{", b" ", b"\n", b"["):
            content = head + file.read(_MOST_JSON)
            if len(content) > _MOST_JSON:
                raise Malformed(f"it has more than {_MOST_JSON >> 30} GiB")
            return _ReadContent(read_json(content, entries), "json", None)
    with open_unpacked(path) as file:
        reader = DumpReader(file, entries)
        try:
            for _ in reader.run():
                pass
        except _CUT:
            if not entries.places:
                raise
            return _ReadContent(
                reader.get_open_dict(), "pickle", f"it ends too early, after entry {entries.numbers[0][-1]}"
            )
    if type(reader.result) is not Pairs:
        raise Malformed("it holds no dict: dumps before version 2 are not read")
    return _ReadContent(reader.result, "pickle", None)


def _check_version(content: _ReadContent, entries: EntryRows) -> str | None:
    """Return the version of a dump. Raises Malformed for one that traceq does not know, or where it is no dump at all."""
    version = content.whole.get("version")
    if version is None and content.fault is None and not entries.places:
        raise Malformed("it has neither a version nor entries: it is no dump")
    if version is not None and (type(version) is not str or not _MAJOR.fullmatch(version)):
        raise Malformed(f"it is of version {str(version)[:20]!r}, and traceq knows 2.x")
    return version


def _find_rank(path: Path, whole: Mapping[Any, Any]) -> tuple[int | None, str | None]:
    """Return the rank of a dump and what tells it: `content`, `file` (the name ends in it) or None."""
    rank = whole.get("rank")
    if type(rank) is int and 0 <= rank < _MOST_RANKS:
        return rank, "content"
    found = rank_in_name(path)
    return found, None if found is None else "file"


def _list_members(whole: Mapping[Any, Any]) -> Iterator[tuple[str, str, int]]:
    """Yield (name, description, rank) of each member of the groups that a dump lists; gloo lists none."""
    for name, group in _pairs_of(whole.get("pg_config")):
        described = dict(_pairs_of(group))
        ranks, description = described.get("ranks"), described.get("desc")
        if type(name) is str and type(ranks) is str and type(description) is str:
            for number in _NUMBER.findall(ranks):
                yield name, description, int(number)


def _pairs_of(value: Any) -> list[tuple[Any, Any]]:
    return list(value.items()) if isinstance(value, dict) else []
