"""Kernels as torch.compile describes them: torch_compile_debug, Inductor's provenance files, output of tlparse."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from traceq.analysis.kernels.compiled import Compiled, Origin
from traceq.errors import UnusableTrace

# By the names that PyTorch and tlparse give them.
_MAPPINGS = "inductor_provenance_tracking_node_mappings*.json"
_TRACES = "inductor_provenance_tracking_kernel_stack_traces*.json"
_INFORMATION = "kernel_information.json"
_GRAPHS = ("*after_post_grad_graph*.txt", "fx_graph_transformed.py", "fx_graph_readable.py")
_CODE = ("output_code.py", "inductor_output_code*.txt")
_NAMES = (_MAPPINGS, _TRACES, _INFORMATION, *_GRAPHS, *_CODE)

# What lies beside a trace and is taken without being named.
_BESIDE = (_MAPPINGS, _TRACES, _INFORMATION)
_FOLDER = "torch_compile_debug"

# add: "f32[32, 32]" = torch.ops.aten.add.Tensor(...), under the line of the program that it comes from
_NODE = re.compile(r"^\s*(\w+)\b[^=]*= torch\.ops\.(\w+)\.(\w+)")
_PLACE = re.compile(r"^\s*# File: (.+?):(\d+) in (\S+?)(?:, code: (.*))?$")
# The same in a traceback.
_FRAME = re.compile(r'File "(.+?)", line (\d+), in (.+)')

_KERNEL_PATH = re.compile(r"^# kernel path: .*?([\w-]+)\.py\s*$")
_NODE_OF_SOURCE = re.compile(r"^#\s+\S.* => (.+)$")
_DEFINED = re.compile(r"^(\w+) = async_compile\.\w+\(")

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
        inside = [path] if path.is_file() else _files_inside(path)
        if not inside:
            raise UnusableTrace(f"{path}: contains nothing that Inductor writes about its kernels; see docs/capture.md")
        found += inside
    return tuple(found)


def _files_inside(folder: Path) -> list[Path]:
    """Return the files of torch.compile in a folder, however deep, sorted."""
    return sorted(path for path in folder.rglob("*") if path.is_file() and _is_named(path, *_NAMES))


def _is_named(path: Path, *patterns: str) -> bool:
    """Return whether the file's name matches one of the glob patterns."""
    return any(fnmatch(path.name, pattern) for pattern in patterns)


def read_inductor(files: Sequence[Path]) -> list[Compiled]:
    """Return the kernels that the files describe, where the files of a folder complete each other.

    Raises UnusableTrace where one cannot be read.
    """
    folders: defaultdict[Path, list[Path]] = defaultdict(list)
    for file in files:
        folders[file.parent].append(file)
    return [kernel for folder in folders.values() for kernel in _read_folder(folder)]


def split_readable(files: Sequence[Path]) -> tuple[list[Path], list[str]]:
    """Return the files that can be read, and for each of the others an error message."""
    found, wrong = [], []
    for file in files:
        try:
            _read_json(file) if file.suffix == ".json" else _read_text(file)
        except UnusableTrace as error:
            wrong.append(str(error))
        else:
            found.append(file)
    return found, wrong


def _read_folder(files: Sequence[Path]) -> Iterator[Compiled]:
    """Yield the kernels that the files of one folder describe; kernels without any known origin are left out."""
    nodes: dict[str, Origin] = {}
    for pattern in reversed(_GRAPHS):
        for file in files:
            if _is_named(file, pattern):
                nodes |= _parse_nodes(_read_text(file))
    hashes: dict[str, str] = {}
    in_code: dict[str, list[str]] = {}
    for file in files:
        if _is_named(file, *_CODE):
            for name, path, mapped in _parse_kernels(_read_text(file)):
                in_code[name] = mapped
                if path is not None:
                    hashes[name] = path
    told = _read_provenance(files)
    for name in told.keys() | in_code.keys():
        origins = [*(_origin_of(node, nodes) for node in told.get(name, in_code.get(name, [])))]
        if any(origins):
            yield Compiled(name, hashes.get(name), _unique_origins(origins), "provenance" if name in told else "code")


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


def _read_provenance(files: Sequence[Path]) -> dict[str, list[str | Origin]]:
    """Return by kernel name the names of the graph nodes that it computes, and the lines of the program (Origin)."""
    found: defaultdict[str, list[str | Origin]] = defaultdict(list)
    for file in files:
        if _is_named(file, _MAPPINGS):
            for name, nodes in _items_of(_read_json(file).get("cppCodeToPost")):
                found[_HANDLE.sub("", name)] += _texts_of(nodes)
        elif _is_named(file, _INFORMATION):
            for name, told in _items_of(_read_json(file)):
                if isinstance(told, dict):
                    found[_HANDLE.sub("", name)] += _texts_of(told.get("post_grad_nodes"))
                    found[_HANDLE.sub("", name)] += map(_innermost_frame, _texts_of(told.get("stack_traces")))
        elif _is_named(file, _TRACES):
            for name, traces in _items_of(_read_json(file)):
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


def _read_json(file: Path) -> dict[str, Any]:
    """Return the JSON object in a file, empty for any other value; raise UnusableTrace where it is no JSON."""
    try:
        found = json.loads(_read_text(file))
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
