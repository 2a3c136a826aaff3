"""A whole Chrome trace: groups of blocks are decoded several at a time, and joined up here in order."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from threading import Condition
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from traceq.errors import UnusableTrace
from traceq.importers.chrome import cut, header, host
from traceq.importers.chrome.decode import BlockDecoder, EventBlock, split
from traceq.importers.chrome.header import build_notes
from traceq.importers.chrome.repair import repair
from traceq.importers.chrome.rows import BlockRows, TrackNumbers
from traceq.importers.chrome.sampled import build_sample_batches, read_samples
from traceq.importers.chrome.source import ByteStream
from traceq.importers.rows import batches_of

# Trailers hold a few kB of metadata; what is longer is not kept.
_LONGEST_TRAILER = 16 << 20

# What feeds decoders, one thread that reads and cuts and one that joins rows up, is busy with so many.
_MOST_DECODERS = 4

# Blocks that are decoded in one go: more than planning costs, and little memory. Usual events are of 200 bytes and more; of long
# ones DuckDB holds 2,048 in each of some twenty columns at a time, so that fewer bytes have to do.
_GROUP_BYTES = 4 << 20
_GROUP_EVENTS = 200_000
_LONG_EVENT, _GROUP_BYTES_OF_LONG = 4 << 10, 1 << 20

# Blocks, and bytes of them, that are read while others are decoded.
_BLOCKS_AHEAD, _BYTES_AHEAD = 32, 8 << 20

_Batch = tuple[str, pa.RecordBatch]


def read(path: Path, progress: Callable[[int], None] = lambda _bytes: None, jobs: int = 1) -> Iterator[_Batch]:
    """Yield (name of a traceq table, batch of its rows) for a Chrome trace, block after block, the notes last.

    `progress` gets the number of the file's bytes read so far; `jobs` is the number of threads. Raises UnusableTrace
    when the file holds no list of events, or no event can be read from it.
    """
    with closing(ByteStream(path, progress)) as stream:
        before, text = cut.read_header(stream)
        if before is None:
            raise UnusableTrace(f"{path}: holds no list of trace events; was it written by a profiler?")
        reader = _TraceReader()
        yield from reader.read_events(stream, text, jobs)
        if stream.is_damaged or not reader.has_ended:
            reader.notes["truncated"] = 1
        reader.notes["large_event"] += stream.large_events
        reader.notes["missing_comma"] += stream.missing_commas
        if reader.event_count <= reader.notes["malformed_event"]:
            raise UnusableTrace(
                f"{path}: nothing recorded: the file holds no events; was the profiler stopped before it recorded anything?"
            )
        yield from reader.finish(before)


class _BlockQueue:
    """The blocks of a trace in order, read and split in the background while DuckDB decodes earlier ones."""

    def __init__(self, source: Iterator[bytes]) -> None:
        """Begin to read ahead; `source` yields the texts of the blocks."""
        self._source = source
        self._thread = ThreadPoolExecutor(1)
        self._waiting: list[EventBlock | bytes] = []
        self._held = 0
        self._is_closed = False
        self._changed = Condition()
        self._ahead = deque(self._thread.submit(self._read) for _ in range(_BLOCKS_AHEAD))

    def _read(self) -> tuple[EventBlock | bytes | None, int]:
        """Read the next block once few enough bytes wait to be decoded; return it and its bytes, (None, 0) at the end."""
        with self._changed:
            self._changed.wait_for(lambda: self._held < _BYTES_AHEAD or self._is_closed)
        text = next(self._source, None)
        if text is None:
            return None, 0
        with self._changed:
            self._held += len(text)
        return split(text) or text, len(text)

    def take_next(self) -> EventBlock | bytes | None:
        """Return the next block, as text if it is not a plain list of events; None at the end."""
        if self._waiting:
            return self._waiting.pop()
        self._ahead.append(self._thread.submit(self._read))
        block, size = self._ahead.popleft().result()
        with self._changed:
            self._held -= size
            self._changed.notify()
        return block

    def put_back(self, blocks: Sequence[EventBlock | bytes]) -> None:
        """Put consecutive blocks that were taken back in front, to be taken next."""
        self._waiting += reversed(blocks)

    def read_rest(self, most: int) -> bytes:
        """Take all remaining blocks; return the text of the first of them, up to the one that reaches `most` bytes."""
        parts: list[bytes] = []
        size = 0
        while (block := self.take_next()) is not None:
            if size < most:
                parts.append(_text_of_block(block))
                size += len(parts[-1])
        return b"".join(parts)

    def close(self) -> None:
        """Stop reading ahead."""
        with self._changed:
            self._is_closed = True
            self._changed.notify()
        self._thread.shutdown(cancel_futures=True)


class _DecoderPool:
    """Threads that decode groups of blocks, each with a decoder of its own, made when it is first needed."""

    def __init__(self, jobs: int) -> None:
        """Use up to `jobs` threads."""
        self.size = min(jobs, _MOST_DECODERS)
        self._threads = ThreadPoolExecutor(self.size)
        self._all: list[BlockDecoder] = []
        self._free: list[BlockDecoder] = []

    def submit(self, group: list[EventBlock]) -> Future[BlockRows | None]:
        """Let a thread decode consecutive blocks."""
        return self._threads.submit(self.decode, group)

    def decode(self, group: list[EventBlock]) -> BlockRows | None:
        """Return the rows of consecutive blocks; None when one of them cannot be decoded."""
        with self._lend_decoder() as decoder:
            return decoder.decode_blocks(group)

    def decode_text(self, text: bytes) -> BlockRows | None:
        """Return the rows of a text of comma-separated events; None when it is not that, or cannot be decoded."""
        with self._lend_decoder() as decoder:
            return decoder.decode(text)

    @contextmanager
    def _lend_decoder(self) -> Iterator[BlockDecoder]:
        """Lend a decoder that no other thread uses."""
        try:
            decoder = self._free.pop()
        except IndexError:
            decoder = BlockDecoder()
            self._all.append(decoder)
        try:
            yield decoder
        finally:
            self._free.append(decoder)

    def close(self) -> None:
        """End the threads, and close the decoders."""
        self._threads.shutdown(cancel_futures=True)
        for decoder in self._all:
            decoder.close()


def _take_group(queue: _BlockQueue) -> list[EventBlock]:
    """Take consecutive blocks to be decoded in one go; none at the end, and before a block that is no plain list of events."""
    group: list[EventBlock] = []
    size = events = 0
    while (block := queue.take_next()) is not None:
        if not isinstance(block, EventBlock):
            queue.put_back([block])
            break
        group.append(block)
        size += len(block.text)
        events += block.events
        if size >= (_GROUP_BYTES if size < events * _LONG_EVENT else _GROUP_BYTES_OF_LONG) or events >= _GROUP_EVENTS:
            break
    return group


def _text_of_block(block: EventBlock | bytes | None) -> bytes:
    """Return the block's text as it stands in the file, b"" for None."""
    return block.as_read if isinstance(block, EventBlock) else block or b""


class _TraceReader:
    """Reader of a trace's events, which carries event numbers, threads, open ranges and notes from block to block."""

    def __init__(self) -> None:
        self.notes: Counter[str] = Counter()
        self.event_count = 0
        self.has_ended = False
        self._threads = TrackNumbers()
        self._ranges: list[host.RangeEnd] = []
        self._trailer = b""
        self._last = 0
        self._is_kineto = False
        self._first: int | None = None
        self._has_gpu_work = False

    def read_events(self, stream: ByteStream, text: bytes, jobs: int) -> Iterator[_Batch]:
        """Yield (table, batch) of all blocks in order, decoded by `jobs` threads; `text` was read before and comes first."""
        with closing(_DecoderPool(jobs)) as pool, closing(_BlockQueue(cut.read_blocks(stream, text))) as queue:
            decoding: deque[tuple[list[EventBlock], Future[BlockRows | None]]] = deque()
            while True:
                while len(decoding) < pool.size and (group := _take_group(queue)):
                    decoding.append((group, pool.submit(group)))
                if decoding:
                    group, decoded = decoding.popleft()
                    rows = decoded.result()
                    if rows is not None:
                        yield from self._add_rows(rows)
                        continue
                    while decoding:
                        later, decoded = decoding.pop()
                        if not decoded.cancel():
                            decoded.result()
                        queue.put_back(later)
                    yield from self._add_group(group, pool, queue)
                elif block := queue.take_next():
                    yield from self._repair(_text_of_block(block), pool, queue)
                else:
                    return

    def _add_group(self, group: list[EventBlock], pool: _DecoderPool, queue: _BlockQueue) -> Iterator[_Batch]:
        """Yield the batches of the first of consecutive blocks that cannot be decoded together; put the others back.

        The first is repaired where it cannot be decoded alone.
        """
        queue.put_back(group[1:])
        rows = pool.decode(group[:1]) if len(group) > 1 else None
        if rows is not None:
            yield from self._add_rows(rows)
        else:
            yield from self._repair(group[0].as_read, pool, queue)

    def _repair(self, text: bytes, pool: _DecoderPool, queue: _BlockQueue) -> Iterator[_Batch]:
        """Yield the batches of a block that is no plain list of events, with as much of the following text as it needs.

        Where the list of events ends in it, the rest of the file is kept as the trailer.
        """
        while True:
            more = queue.take_next()
            repaired = repair(text, pool.decode_text, is_last=more is None)
            yield from self._add_rows(repaired.rows)
            if repaired.ended:
                self.has_ended = True
                self._trailer = repaired.rest + _text_of_block(more) + queue.read_rest(_LONGEST_TRAILER)
                return
            if more is None:
                return
            if not repaired.rest:
                queue.put_back([more])
                return
            text = repaired.rest + _text_of_block(more)

    def _add_rows(self, rows: BlockRows) -> Iterator[_Batch]:
        """Yield a decoded block's batches with ids of the whole file; keep its ranges, names of threads and notes."""
        threads = self._threads.number_tracks(rows.tracks)
        for table, batch in rows.batches:
            shifted = _shift_ids(batch, self.event_count)
            if table == "cpu_slice":
                position = shifted.schema.get_field_index("thread_id")
                shifted = shifted.set_column(position, "thread_id", threads.take(shifted["thread_id"]))
            self._note_batch(table, shifted)
            yield table, shifted
        for end in rows.ranges:
            thread_id = threads[end.thread_id].as_py()
            self._ranges.append(end._replace(number=end.number + self.event_count, thread_id=thread_id))
        self._threads.describe(rows.metadata)
        self.notes += rows.notes
        self.event_count += rows.events

    def _note_batch(self, table: str, batch: pa.RecordBatch) -> None:
        """Keep what the end of the import needs of a batch: first and last time, GPU work, who wrote the trace."""
        if self._first is None and table in ("cpu_slice", "gpu_slice") and batch.num_rows:
            self._first = batch["ts"][0].as_py()
        if table == "gpu_slice":
            self._has_gpu_work = True
        if table == "cpu_slice":
            self.notes["mtia_not_measured"] += _count_mtia_events(batch)
        if "dur" in batch.schema.names and batch.num_rows:
            self._last = max(self._last, pc.max(pc.add(batch["ts"], batch["dur"])).as_py())
        if table == "gpu_slice" or (table == "cpu_slice" and not self._is_kineto and _has_kineto_kinds(batch)):
            self._is_kineto = True

    def finish(self, before: bytes) -> Iterator[_Batch]:
        """Yield the batches that depend on the whole file: ranges, trace, devices, threads, notes.

        `before` is the text before the list of events.
        """
        if self._ranges:
            self._last = max(self._last, *(end.ts for end in self._ranges))
            yield from host.pair_ranges(self._ranges, self._last, self.notes)
        if not self._is_kineto:
            self.notes["arrow_not_stored"] = self.notes.pop("flow_not_stored", 0)
        if not self._has_gpu_work:
            self.notes += self._threads.count_unmeasured()
        members: dict[str, Any] = header.parse(before, self._trailer, self.notes)
        if isinstance(messages := members.get("ERROR"), list):
            self.notes["profiler_message"] += len(messages)
        trace = header.build_trace_row(members, is_kineto=self._is_kineto, first=self._first, notes=self.notes)
        yield from batches_of("trace", [trace])
        yield from build_sample_batches(read_samples(members, self.notes), self._threads, trace["utc_origin_ns"])
        yield from batches_of("device", header.build_device_rows(members, self.notes))
        yield from self._threads.build_batches()
        yield from build_notes(self.notes)


def _count_mtia_events(batch: pa.RecordBatch) -> int:
    """Return the number of slices that are work of an MTIA device."""
    others = batch["category"].filter(pc.equal(batch["kind"], "other"))
    return (pc.sum(pc.starts_with(others.cast(pa.string()), "mtia_")).as_py() or 0) if len(others) else 0


def _has_kineto_kinds(batch: pa.RecordBatch) -> bool:
    """Return whether a batch of cpu_slice has an operator, runtime call or annotation, which only PyTorch writes."""
    return any(kind in ("op", "runtime", "annotation") for kind in pc.unique(batch["kind"]).to_pylist())


def _shift_ids(batch: pa.RecordBatch, by: int) -> pa.RecordBatch:
    """Return the batch with `by` added to its slice ids, if it has any."""
    if "slice_id" not in batch.schema.names or not by:
        return batch
    position = batch.schema.get_field_index("slice_id")
    return batch.set_column(position, "slice_id", pc.add(batch["slice_id"], pa.scalar(by, pa.int64())))
