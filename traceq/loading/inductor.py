"""Kernels and their calls as torch.compile describes them: in torch_compile_debug, provenance files, TORCH_TRACE's logs."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatch
from pathlib import Path
from typing import Any, NamedTuple

from traceq.analysis.kernels.compiled import Compiled, CompiledCall, CompiledGraph, Origin
from traceq.errors import UnusableTrace
from traceq.importers.compile_log.envelope import HEAD_BYTES, LogLines, begins_like_log
from traceq.loading.fx_modules import Module, common_module, read_annotated, read_parameters, split_calls

# By the names that PyTorch and tlparse give them.
_MAPPINGS = "inductor_provenance_tracking_node_mappings*.json"
_TRACES = "inductor_provenance_tracking_kernel_stack_traces*.json"
_INFORMATION = "kernel_information.json"
_GRAPHS = (
    *("*after_post_grad_graph*.txt", "*inductor_post_grad_graph*.txt"),
    *("fx_graph_transformed.py", "fx_graph_readable.py"),
)
_CODE = ("output_code.py", "inductor_output_code*.txt")
_KEYS = "fx_graph_cache_*.json"
# The graph that Dynamo made: all that is compiled of it has its parameters.
_DYNAMO = "*dynamo_output_graph*.txt"
# A structured log, which holds all of these but those of torch_compile_debug.
_LOG = "dedicated_log_torch_trace_*.log"
_NAMES = (_MAPPINGS, _TRACES, _INFORMATION, *_GRAPHS, *_CODE, _KEYS, _DYNAMO, _LOG)

# What lies beside a trace and is taken without being named.
_BESIDE = (_MAPPINGS, _TRACES, _INFORMATION)
_FOLDER = "torch_compile_debug"

# add: "f32[32, 32]" = torch.ops.aten.add.Tensor(...), under the line of the program that it comes from
_NODE = re.compile(r"^\s*(\w+)\b[^=]*= torch\.ops\.(\w+)\.(\w+)")
_PLACE = re.compile(r"^\s*#(?: Annotation: .*?)? File: (.+?):(\d+) in (\S+?)(?:, code: (.*))?$")
# The same in a traceback.
_FRAME = re.compile(r'File "(.+?)", line (\d+), in (.+)')

_KERNEL_PATH = re.compile(r"^# kernel path: .*?([\w-]+)\.py\s*$")
_NODE_OF_SOURCE = re.compile(r"^#\s+\S.* => (.+)$")
_DEFINED = re.compile(r"^(\w+) = async_compile\.\w+\(")

# extern_kernels.addmm, torch.ops.aten.addmm.out
_OPERATOR = re.compile(r"^(?:extern_kernels|torch\.ops\.(\w+))\.(\w+)")

# Kernels have their number among all calls behind their name: triton_poi_fused_add_0:3.
_HANDLE = re.compile(r":\d+$")
_NUMBER = re.compile(r"_\d+$")


def inductor_files(given: Sequence[str | Path], trace: Path) -> tuple[Path, ...]:
    """Return the files of torch.compile that describe kernels: those in `given`, which are files or folders.

    Without any, return the files found beside the trace. Raises UnusableTrace for a missing path, or a folder without any.
    """
    if not given:
        beside = [path for pattern in _BESIDE for path in trace.parent.glob(pattern)]
        return tuple(sorted([*beside, *_files_inside(trace.parent / _FOLDER)]))
    found: list[Path] = []
    for path in map(Path, given):
        if not path.exists():
            raise UnusableTrace(f"{path}: no such file")
        inside = (
            ([path] if _is_log(path) or _is_named(path, *_NAMES) else []) if path.is_file() else _files_inside(path)
        )
        if not inside:
            raise UnusableTrace(f"{path}: contains nothing that Inductor writes about its kernels; see docs/capture.md")
        found += inside
    return tuple(found)


def _is_log(file: Path) -> bool:
    """Return whether the file is a structured log, as PyTorch names it or by its first lines."""
    if file.suffix != ".log":
        return False
    try:
        with file.open("rb") as opened:
            return _is_named(file, _LOG) or begins_like_log(opened.read(HEAD_BYTES))
    except OSError as error:
        raise UnusableTrace(f"{file}: cannot be read: {error.strerror}") from error


def _files_inside(folder: Path) -> list[Path]:
    """Return the files of torch.compile in a folder, however deep, sorted."""
    return sorted(path for path in folder.rglob("*") if path.is_file() and _is_named(path, *_NAMES))


def _is_named(path: Path, *patterns: str) -> bool:
    """Return whether the file's name matches one of the glob patterns."""
    return any(fnmatch(path.name, pattern) for pattern in patterns)


class Inductor(NamedTuple):
    """Kernels as files of torch.compile describe them, and the calls of each graph."""

    kernels: list[Compiled]
    graphs: list[CompiledGraph]


class Artifact(NamedTuple):
    """A text that torch.compile writes, by the name that PyTorch or tlparse give it; `file` is where it stands."""

    file: Path
    name: str
    text: str

    def is_named(self, *patterns: str) -> bool:
        """Return whether the name matches one of the glob patterns."""
        return any(fnmatch(self.name, pattern) for pattern in patterns)


def read_inductor(files: Sequence[Path]) -> Inductor:
    """Return what the files tell, where those of a folder, or of a compilation in a log, complete each other.

    Raises UnusableTrace where one cannot be read.
    """
    found: defaultdict[tuple[Path, str], list[Artifact]] = defaultdict(list)
    for file in files:
        if _is_log(file):
            for compilation, artifact in _read_log(file):
                found[file, compilation].append(artifact)
        else:
            found[file.parent, ""].append(Artifact(file, file.name, _read_text(file)))
    read = Inductor([], [])
    for artifacts in found.values():
        for graph in _split_graphs(artifacts):
            read.kernels.extend(_read_kernels(graph))
            if calls := _read_calls(graph):
                read.graphs.append(calls)
    return read


def _read_log(file: Path) -> Iterator[tuple[str, Artifact]]:
    """Yield what a structured log (TORCH_TRACE) holds of these artifacts, each with the id of its compilation."""
    try:
        for record in LogLines().read_records(file):
            artifact = record.fields.get("artifact")
            if isinstance(artifact, dict):
                name = f"{artifact.get('name')}.{'json' if artifact.get('encoding') == 'json' else 'txt'}"
            else:
                name = next(
                    (f"{key}.txt" for key in ("dynamo_output_graph", "inductor_output_code") if key in record.fields),
                    "",
                )
            found = Artifact(file, name, record.payload)
            if found.is_named(*_NAMES):
                ids = (
                    record.fields.get(key)
                    for key in ("compiled_autograd_id", "frame_id", "frame_compile_id", "attempt")
                )
                yield "/".join(map(str, ids)), found
    except OSError as error:
        raise UnusableTrace(f"{file}: cannot be read: {error.strerror}") from error


def _split_graphs(artifacts: Sequence[Artifact]) -> Iterator[list[Artifact]]:
    """Yield the artifacts of each graph: forward and backward, and pieces, share a compilation. All have those of Dynamo's.

    They come in the order in which they were written (tlparse numbers them): where a kind comes again, another graph begins.
    """
    shared = [artifact for artifact in artifacts if artifact.is_named(_DYNAMO)]
    graph: dict[str, Artifact] = {}
    for artifact in sorted((artifact for artifact in artifacts if artifact not in shared), key=_number_of):
        kind = next(pattern for pattern in _NAMES if artifact.is_named(pattern))
        if kind in graph:
            yield [*shared, *graph.values()]
            graph = {}
        graph[kind] = artifact
    yield [*shared, *graph.values()]


def _number_of(artifact: Artifact) -> int:
    """Return the number that tlparse gives an artifact among those of a compilation; 0 without."""
    number = re.search(r"_(\d+)\.\w+$", artifact.name)
    return int(number[1]) if number else 0


def split_readable(files: Sequence[Path]) -> tuple[list[Path], list[str]]:
    """Return the files that can be read, and for each of the others an error message."""
    found, wrong = [], []
    for file in files:
        try:
            text = _read_text(file)
            if file.suffix == ".json":
                _decode_json(file, text)
        except UnusableTrace as error:
            wrong.append(str(error))
        else:
            found.append(file)
    return found, wrong


def _read_kernels(artifacts: Sequence[Artifact]) -> Iterator[Compiled]:
    """Yield the kernels that the artifacts of one graph describe; kernels without any known origin are left out."""
    nodes: dict[str, Origin] = {}
    for pattern in reversed(_GRAPHS):
        for artifact in artifacts:
            if artifact.is_named(pattern):
                nodes |= _parse_nodes(artifact.text)
    hashes: dict[str, str] = {}
    in_code: dict[str, list[str]] = {}
    for artifact in artifacts:
        if artifact.is_named(*_CODE):
            for name, path, mapped in _parse_kernels(artifact.text):
                in_code[name] = mapped
                if path is not None:
                    hashes[name] = path
    told = _read_provenance(artifacts)
    for name in told.keys() | in_code.keys():
        origins = [*(_origin_of(node, nodes) for node in told.get(name, in_code.get(name, [])))]
        if any(origins):
            yield Compiled(name, hashes.get(name), _unique_origins(origins), "provenance" if name in told else "code")


class _NodeModules(NamedTuple):
    """Modules of the nodes of a graph: as the program annotates them, of those of Dynamo's graph, and these by later node."""

    annotated: dict[str, Module]
    traced: dict[str, Module]
    earlier: dict[str, Any]

    def find_modules(self, node: str, *, is_late: bool) -> list[Module]:
        """Return the modules of a node: of the graph after all passes if `is_late`, else of Dynamo's or the backward pass."""
        if node in self.annotated:
            return [self.annotated[node]]
        sources = _texts_of(self.earlier.get(node)) if is_late else [node]
        return [self.traced[source] for source in sources if source in self.traced]


def _read_calls(artifacts: Sequence[Artifact]) -> CompiledGraph | None:
    """Return the calls of the graph that the artifacts describe, with their modules; None where no module is known.

    Provenance names the nodes behind each call, else the comments above it in the generated code do, where a kernel that fuses
    nodes has a module only if all of them have one: those of the backward pass may be unknown. A call that computes nodes of
    several modules is in the innermost one around all of them.
    """
    modules = _NodeModules({}, {}, {})
    mapped: dict[str, Any] = {}
    key: Any = None
    calls: list[tuple[str, list[str]]] = []
    for artifact in artifacts:
        if artifact.is_named(*_GRAPHS):
            modules.annotated.update(read_annotated(artifact.text))
        elif artifact.is_named(_DYNAMO):
            modules.traced.update(read_parameters(artifact.text))
        elif artifact.is_named(_MAPPINGS):
            mappings = _decode_json(artifact.file, artifact.text)
            mapped.update(_items_of(mappings.get("cppCodeToPost")))
            modules.earlier.update(_items_of(mappings.get("postToPre")))
        elif artifact.is_named(_KEYS):
            key = _decode_json(artifact.file, artifact.text).get("key")
        elif artifact.is_named(*_CODE):
            calls = [*split_calls(artifact.text)]
    if mapped:
        calls = [(name, _texts_of(mapped[name])) for name in sorted(mapped, key=_handle_of)]
    found = tuple(_place_call(name, nodes, modules, is_late=bool(mapped)) for name, nodes in calls)
    if not any(call.module for call in found):
        return None
    return CompiledGraph(key if isinstance(key, str) else None, found)


def _place_call(name: str, nodes: Sequence[str], modules: _NodeModules, *, is_late: bool) -> CompiledCall:
    """Return a call with the innermost module around the nodes behind it; see _read_calls."""
    by_node = [modules.find_modules(node, is_late=is_late) for node in nodes]
    is_known = is_late or all(by_node) or name.startswith(("extern_kernels.", "torch.ops."))
    module = common_module(module for own in by_node for module in own) if is_known else ()
    return CompiledCall(_operator_of(_HANDLE.sub("", name)), "/".join(module) or None)


def _handle_of(name: str) -> int:
    """Return the number of a call among those of its graph, which stands behind its name; 0 without."""
    handle = _HANDLE.search(name)
    return int(handle[0][1:]) if handle else 0


def _operator_of(name: str) -> str:
    """Return the name that a trace gives to the call: extern_kernels.addmm and torch.ops.aten.addmm.out are aten::addmm."""
    found = _OPERATOR.match(name)
    return f"{found[1] or 'aten'}::{found[2]}" if found else name


def _unique_origins(origins: Iterable[Origin]) -> tuple[Origin, ...]:
    """Return the distinct origins that say anything, sorted."""
    return tuple(sorted({origin for origin in origins if any(origin)}, key=lambda origin: tuple(map(str, origin))))


def _origin_of(node: str | Origin, nodes: dict[str, Origin]) -> Origin:
    """Return the origin of a graph node by its name, else the operator in its name; an origin is returned unchanged."""
    if isinstance(node, Origin):
        return node
    return nodes.get(node) or Origin(_NUMBER.sub("", node), None, None)


def _parse_nodes(text: str) -> dict[str, Origin]:
    """Return the origins (operator, and line of the program) of the nodes of a graph as PyTorch prints it, by node name."""
    found = {}
    line = code = None
    for row in text.splitlines():
        if place := _PLACE.match(row):
            line, code = f"{place[1]}({place[2]}): {place[3]}", place[4]
        elif node := _NODE.match(row):
            found[node[1]] = Origin(f"{node[2]}::{node[3]}", line, code)
        elif not row.strip():
            # a node without a line stands apart from those that have one
            line = code = None
    return found


def _parse_kernels(text: str) -> Iterator[tuple[str, str | None, list[str]]]:
    """Yield kernels of generated code: name, stem of the file that holds it (None if unknown), nodes that its comment names."""
    path: str | None = None
    mapped: list[str] = []
    for row in text.splitlines():
        if found := _KERNEL_PATH.match(row):
            path, mapped = found[1], []
        elif found := _NODE_OF_SOURCE.match(row):
            mapped += [node.strip() for node in found[1].split(",")]
        elif found := _DEFINED.match(row):
            yield found[1], path, mapped
            path, mapped = None, []


def _read_provenance(artifacts: Sequence[Artifact]) -> dict[str, list[str | Origin]]:
    """Return by kernel name the names of the graph nodes that it computes, and the lines of the program (Origin)."""
    found: defaultdict[str, list[str | Origin]] = defaultdict(list)
    for artifact in artifacts:
        if artifact.is_named(_MAPPINGS):
            for name, nodes in _items_of(_decode_json(artifact.file, artifact.text).get("cppCodeToPost")):
                found[_HANDLE.sub("", name)] += _texts_of(nodes)
        elif artifact.is_named(_INFORMATION):
            for name, told in _items_of(_decode_json(artifact.file, artifact.text)):
                if isinstance(told, dict):
                    found[_HANDLE.sub("", name)] += _texts_of(told.get("post_grad_nodes"))
                    found[_HANDLE.sub("", name)] += map(_innermost_frame, _texts_of(told.get("stack_traces")))
        elif artifact.is_named(_TRACES):
            for name, traces in _items_of(_decode_json(artifact.file, artifact.text)):
                found[_HANDLE.sub("", name)] += map(_innermost_frame, _texts_of(traces))
    return found


def _innermost_frame(trace: str) -> Origin:
    """Return the innermost frame of a traceback as an origin without operator; None for a line or code that it lacks."""
    frames = list(_FRAME.finditer(trace))
    code = trace.strip().splitlines()[-1].strip() if trace.strip() else None
    if not frames:
        return Origin(None, None, code)
    frame = frames[-1]
    return Origin(
        None, f"{frame[1]}({frame[2]}): {frame[3]}", None if code is None or code.startswith("File ") else code
    )


def _items_of(value: Any) -> Iterable[tuple[str, Any]]:
    """Return the items of a JSON object; none for any other value."""
    return value.items() if isinstance(value, dict) else ()


def _texts_of(value: Any) -> list[Any]:
    """Return the strings of a decoded JSON value that is a list, without its other items; none for any other value."""
    return [text for text in value if isinstance(text, str)] if isinstance(value, list) else []


def _decode_json(file: Path, text: str) -> dict[str, Any]:
    """Return the JSON object in a text of the file, empty for any other value; raise UnusableTrace where it is no JSON."""
    try:
        found = json.loads(text)
    except json.JSONDecodeError as error:
        raise UnusableTrace(f"{file}: is not JSON: {error.msg} in line {error.lineno}") from error
    except ValueError as error:  # of Python, for whole numbers
        raise UnusableTrace(f"{file}: has a number with too many digits") from error
    except RecursionError as error:
        raise UnusableTrace(f"{file}: is nested too deeply") from error
    return found if isinstance(found, dict) else {}


def _read_text(file: Path) -> str:
    """Return the text of a file; raise UnusableTrace where it cannot be read."""
    try:
        return file.read_text("utf-8", "replace")
    except OSError as error:
        raise UnusableTrace(f"{file}: cannot be read: {error.strerror}") from error
