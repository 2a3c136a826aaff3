"""JSON of rocprofv3: `rocprofiler-sdk-tool`, a list of processes, each with its agents, names and lists of records.

Times are ns since boot. Records name calls by numbers into `strings`; a range of roctx has its message under its correlation id.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from traceq.errors import UnusableTrace
from traceq.importers.packed import DAMAGED, read_unpacked
from traceq.importers.rocm.dispatches import (
    Agent,
    RowBuilder,
    Rows,
    build_gpu_row,
    count_blocks,
    describe_copy,
    kernel_name,
    range_of,
)
from traceq.importers.rows import batches_of, pseudonym_of

# Text that is decoded in one go: records are short, and lists of them as long as the program ran.
_PART_BYTES = 8 << 20
_CHUNK = 1 << 22
_BETWEEN = re.compile(rb"\}\s*,\s*(?=\{)")
_GPU = 2
_UNREADABLE: tuple[type[Exception], ...] = (*DAMAGED, msgspec.DecodeError, UnicodeDecodeError, RecursionError)

_APIS = {"hip_api": "hip", "hsa_api": "hsa", "rocdecode_api": "rocdecode", "rocjpeg_api": "rocjpeg"}
_READ = {*_APIS, "rccl_api", "marker_api", "kernel_dispatch", "memory_copy"}


class _Handle(msgspec.Struct):
    handle: int


class _BlockSize(msgspec.Struct):
    x: int
    y: int
    z: int


class _Correlation(msgspec.Struct):
    internal: int = 0


class _Visibility(msgspec.Struct):
    hip: int = 1


class _AgentRecord(Agent):
    id: _Handle
    type: int
    logical_node_type_id: int = 0
    runtime_visibility: _Visibility = msgspec.field(default_factory=_Visibility)


class _DispatchInfo(msgspec.Struct):
    agent_id: _Handle
    queue_id: _Handle
    kernel_id: int
    workgroup_size: _BlockSize
    grid_size: _BlockSize
    group_segment_size: int = 0


class _Dispatch(msgspec.Struct):
    start_timestamp: int
    end_timestamp: int
    correlation_id: _Correlation
    dispatch_info: _DispatchInfo
    stream_id: _Handle | None = None


class _CopyRecord(msgspec.Struct):
    kind: int
    operation: int
    start_timestamp: int
    end_timestamp: int
    correlation_id: _Correlation
    src_agent_id: _Handle
    dst_agent_id: _Handle
    bytes: int | None = None
    stream_id: _Handle | None = None


class _CallRecord(msgspec.Struct):
    kind: int
    operation: int
    start_timestamp: int
    end_timestamp: int
    thread_id: int
    correlation_id: _Correlation


class _Symbol(msgspec.Struct):
    kernel_id: int
    formatted_kernel_name: str = ""
    kernel_name: str = ""
    arch_vgpr_count: int = 0
    accum_vgpr_count: int = 0


class _OperationNames(msgspec.Struct):
    kind: str
    operations: list[str]


class _RangeMessage(msgspec.Struct):
    key: int
    value: str


class _StringTables(msgspec.Struct):
    buffer_records: list[_OperationNames] = []
    marker_api: list[_RangeMessage] = []


class _Tool(msgspec.Struct):
    metadata: dict[str, Any] = {}
    agents: list[_AgentRecord] = []
    strings: _StringTables = msgspec.field(default_factory=_StringTables)
    kernel_symbols: list[_Symbol] = []
    callback_records: dict[str, msgspec.Raw] = {}
    buffer_records: dict[str, msgspec.Raw] = {}


class _File(msgspec.Struct, rename={"tools": "rocprofiler-sdk-tool"}):
    tools: list[_Tool]


_Record = TypeVar("_Record")


def read(path: Path, builder: RowBuilder) -> Rows:
    """Yield (table, batch) for all processes in rocprofv3's JSON.

    Raises UnusableTrace where the file is cut short, damaged or of another shape.
    """
    try:
        tools = msgspec.json.decode(read_unpacked(path), type=_File).tools
        for tool in tools:
            yield from _JsonProcess(tool, builder).read()
        yield from batches_of("trace", [_trace_row(tools)])
    except _UNREADABLE as error:
        raise UnusableTrace(f"{path}: is cut short or damaged ({error}); copy it again, or record it again") from error


def _trace_row(tools: list[_Tool]) -> dict[str, Any]:
    """Return the row of table trace; the machine's name becomes a pseudonym, and the command line is left out."""
    nodes = [tool.metadata.get("node") for tool in tools]
    host = next((str(node["hostname"]) for node in nodes if isinstance(node, dict) and node.get("hostname")), None)
    return {"producer": "rocprofv3", "host": pseudonym_of(host) if host else None}


class _JsonProcess:
    """One process of rocprofv3's JSON, with the names that its records refer to."""

    def __init__(self, tool: _Tool, builder: RowBuilder) -> None:
        self._builder = builder
        self._tool = tool
        pid = tool.metadata.get("pid")
        self._pid = pid if isinstance(pid, int) else None
        command = tool.metadata.get("command")
        builder.name_program(self._pid, str(command[0]) if isinstance(command, list) and command else None)
        self._symbols = {symbol.kernel_id: symbol for symbol in tool.kernel_symbols}
        self._messages = {message.key: message.value for message in tool.strings.marker_api}
        self._gpus = _number_gpus(tool, builder)

    def read(self) -> Rows:
        """Yield (table, batch) of the process's kernels, copies, calls and ranges.

        Records of other kinds are counted in a note.
        """
        records = self._tool.buffer_records
        for dispatches in _decode_parts(records.get("kernel_dispatch"), _Dispatch):
            yield from self._builder.build_batches("kernel", [self._kernel_row(dispatch) for dispatch in dispatches])
        for copies in _decode_parts(records.get("memory_copy"), _CopyRecord):
            yield from self._builder.build_batches("memcpy", [self._copy_row(copy) for copy in copies])
        for table, category in _APIS.items():
            for calls in _decode_parts(records.get(table), _CallRecord):
                yield from self._builder.build_batches("call", [self._call_row(each, category) for each in calls])
        for calls in _decode_parts(records.get("marker_api"), _CallRecord):
            ranges = map(self._range_row, calls)
            yield from self._builder.build_batches("range", [row for row in ranges if row is not None])
        for calls in _decode_parts(records.get("rccl_api"), _CallRecord):
            # as ranges, as NCCL's own are: what is launched inside them communicates
            yield from self._builder.build_batches(
                "range", [(*self._call_row(call, "rccl")[:5], False) for call in calls]
            )
        self._note_others()

    def _kernel_row(self, record: _Dispatch) -> tuple[Any, ...]:
        info = record.dispatch_info
        symbol = self._symbols.get(info.kernel_id)
        grid, group = info.grid_size, info.workgroup_size
        return (
            record.start_timestamp,
            record.end_timestamp,
            self._gpus.get(info.agent_id.handle, -1),
            # before ROCm 6.4 streams were not recorded: what ran in one queue ran in order
            (record.stream_id or info.queue_id).handle,
            kernel_name(symbol.formatted_kernel_name or symbol.kernel_name if symbol else None, info.kernel_id),
            self._pid,
            record.correlation_id.internal or None,
            *count_blocks((grid.x, grid.y, grid.z), (group.x, group.y, group.z)),
            symbol.arch_vgpr_count + symbol.accum_vgpr_count or None if symbol else None,
            info.group_segment_size,
        )

    def _copy_row(self, record: _CopyRecord) -> tuple[Any, ...]:
        source, target = (self._gpus.get(agent.handle) for agent in (record.src_agent_id, record.dst_agent_id))
        name, *told = describe_copy(self._operation_name(record.kind, record.operation), source, target)
        number = next((device for device in (target, source) if device is not None), -1)
        stream = record.stream_id.handle if record.stream_id else None
        place = (number, stream, name, self._pid, record.correlation_id.internal or None)
        return record.start_timestamp, record.end_timestamp, *place, *told, source, target, record.bytes

    def _call_row(self, record: _CallRecord, category: str) -> tuple[Any, ...]:
        thread = self._builder.number_thread(self._pid, record.thread_id)
        name = self._operation_name(record.kind, record.operation)
        return (
            record.start_timestamp,
            record.end_timestamp,
            thread,
            category,
            name,
            record.correlation_id.internal or None,
        )

    def _range_row(self, record: _CallRecord) -> tuple[Any, ...] | None:
        return range_of(
            self._operation_name(record.kind, record.operation),
            self._messages.get(record.correlation_id.internal),
            (record.start_timestamp, record.end_timestamp),
            self._builder.number_thread(self._pid, record.thread_id),
        )

    def _operation_name(self, kind: int, operation: int) -> str:
        names = self._tool.strings.buffer_records
        known = names[kind].operations if 0 <= kind < len(names) else []
        return known[operation] if 0 <= operation < len(known) else f"kind {kind}, operation {operation}"

    def _note_others(self) -> None:
        """Count in a note, by name, the records of kinds that traceq does not import."""
        others = {**self._tool.buffer_records, **self._tool.callback_records}
        for name in sorted(set(others) - _READ):
            count = sum(map(len, _decode_parts(others[name], msgspec.Raw)))
            text = f"records of {name} were left out: traceq has no place for them yet"
            self._builder.notes["data_loss", "records_not_imported", text] += count


def _number_gpus(tool: _Tool, builder: RowBuilder) -> dict[int, int]:
    """Return device numbers by agent handle for the GPUs that the process could see, and add them to the builder's devices."""
    agents = [each for each in tool.agents if each.type == _GPU and each.runtime_visibility.hip]
    agents.sort(key=lambda agent: agent.logical_node_type_id)
    for number, agent in enumerate(agents):
        builder.devices.setdefault(number, build_gpu_row(number, agent))
    return {agent.id.handle: number for number, agent in enumerate(agents)}


def _decode_parts(raw: msgspec.Raw | None, record: type[_Record]) -> Iterator[list[_Record]]:
    """Yield the records of a JSON list as lists of `record`, each of some MB of text; nothing for None or an empty list.

    Raises msgspec's errors for records of another shape.
    """
    text = memoryview(raw if raw is not None else b"[]")
    decoder = msgspec.json.Decoder(list[record])  # type: ignore[valid-type]
    # msgspec gives a list as it stands, from one bracket to the other
    begin, last = 1, len(text) - 1
    while last - begin > _PART_BYTES:
        for cut in _BETWEEN.finditer(text, begin + _PART_BYTES, last):
            part = text[begin : cut.start() + 1]
            try:
                records = decoder.decode(b"".join((b"[", part, b"]")))
            except msgspec.ValidationError:
                raise
            except msgspec.DecodeError:  # inside a nested list or a text
                continue
            yield records
            begin = cut.end()
            break
        else:
            break
    if rest := decoder.decode(b"".join((b"[", text[begin:last], b"]"))):
        yield rest
