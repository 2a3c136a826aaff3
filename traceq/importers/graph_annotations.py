"""Names of the nodes of CUDA graphs as a program saves them from torch.cuda.graph_annotations: a pickle or JSON.

By node id, which is that of the profilers' records, there is a list of annotations: {21474836480: [{"name": "attention"}]}.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from traceq.errors import UnusableTrace
from traceq.importers.packed import DAMAGED, open_unpacked, read_head
from traceq.importers.pickled import Malformed, Pairs, PickleReader

_PICKLE = b"\x80"
_UNREADABLE: tuple[type[Exception], ...] = (OSError, *DAMAGED)
_WRONG: tuple[type[Exception], ...] = (Malformed, ValueError, TypeError, RecursionError, *DAMAGED)
_NODES = re.compile(rb'\s*\{\s*(?:\}|"\d+"\s*:\s*[\[{])')
_MOST_JSON = 1 << 28


def is_annotations(path: Path) -> bool:
    """Return whether the file looks like saved annotations: JSON by node id, or any pickle."""
    try:
        head = read_head(path, 256)
    except _UNREADABLE:
        return False
    return head.startswith(_PICKLE) or bool(_NODES.match(head))


def read_annotations(path: Path) -> dict[int, dict[str, Any]]:
    """Return the annotations by graph node id; of several of one node the later ones win where they share a key.

    Raises UnusableTrace for a file that cannot be read or holds something else.
    """
    try:
        with open_unpacked(path) as file:
            head = file.read(1)
        found = _read_pickle(path) if head == _PICKLE else _read_json(path)
    except OSError as error:
        raise UnusableTrace(f"{path}: cannot be read: {error.strerror}") from error
    except _WRONG as error:
        raise UnusableTrace(
            f"{path}: cannot be read as annotations of CUDA graphs: {error}; save them with"
            " json.dump(dict(torch.cuda.graph_annotations.get_kernel_annotations()), file)"
        ) from error
    if not isinstance(found, dict):
        raise UnusableTrace(f"{path}: holds no annotations by node of a CUDA graph (docs/capture.md)")
    return {int(node): _merge_annotations(annotations) for node, annotations in found.items() if str(node).isdecimal()}


def _merge_annotations(annotations: Any) -> dict[str, Any]:
    """Return the annotations of one node as one object; a text is the name of a region."""
    merged: dict[str, Any] = {}
    for annotation in annotations if isinstance(annotations, list | tuple) else [annotations]:
        if isinstance(annotation, dict):
            merged |= annotation
        elif isinstance(annotation, str):
            merged |= _decode_object(annotation)
    return merged


def _decode_object(text: str) -> dict[str, Any]:
    """Return the object whose JSON a dict of a pickle was replaced by; for any other text, the region of that name."""
    try:
        value = json.loads(text)
    except ValueError:
        return {"name": text}
    return value if isinstance(value, dict) else {"name": text}


def _read_json(path: Path) -> Any:
    with open_unpacked(path) as file:
        text = file.read(_MOST_JSON + 1)
    if len(text) > _MOST_JSON:
        raise ValueError(f"it is larger than {_MOST_JSON >> 20} MiB")
    return json.loads(text)


def _read_pickle(path: Path) -> Any:
    """Return the dict in a pickle by node, with JSON in place of each annotation."""
    with open_unpacked(path) as file:
        reader = PickleReader(file, _replace_annotation, tuple, lambda _bytes: None)
        for _ in reader.run():
            pass
    return reader.result


def _replace_annotation(pairs: Pairs, _level: list[Any] | None) -> Any:
    """Return an annotation, whose keys are texts, as JSON; the dict by node is kept."""
    return json.dumps(pairs) if all(isinstance(key, str) for key in pairs) else pairs
