"""Write the words of which libraries make paths and functions of Python: .ci/frame_words.py PACKAGE...

`traceq/sharing/frame_words.txt` is of torch and numpy: run it where these are installed. Words of paths are listed, and words of
functions that more than one file has, without tests; what `library_words()` has is not repeated.
"""

from __future__ import annotations

import ast
import re
import sys
import textwrap
from collections import Counter
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

from traceq.common.library_names import library_words

_LIST = Path(__file__).resolve().parents[1] / "traceq/sharing/frame_words.txt"
_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
# Of vLLM, Triton and torchvision, and of single files of PyTorch's loader.
_BESIDE = frozenset(
    (
        *("avail", "collation", "fetcher", "justknobs", "knobs", "nullcontext", "recomputed", "resnet", "torchvision"),
        *("cascade", "communicators", "connector", "embeds", "envs", "gpt", "invariant", "layerwise", "logprobs"),
        *("lora", "loras", "mixin", "monolithic", "offloader", "onload", "oss", "penalties", "platforms", "pynccl"),
        *("randomize", "transit", "ubatch", "ubatches", "ubatching", "uniproc", "unquantized", "getenv"),
    )
)
_LEFT_OUT = frozenset(("testing", "_testing", "test", "tests", "_vendor", "onnx"))


def words(package: str) -> set[str]:
    """Return the words in paths of a package, and in names of functions that several of its files have."""
    spec = find_spec(package)
    if spec is None or spec.origin is None:
        raise SystemExit(f"{package} is not installed here")
    root = Path(spec.origin).parent
    in_paths: set[str] = set()
    in_functions: Counter[str] = Counter()
    for file in root.rglob("*.py"):
        path = file.relative_to(root.parent)
        if not _LEFT_OUT & set(path.parts):
            in_paths |= _words(str(path))
            in_functions.update({word for name in _functions(file) for word in _words(name)})
    return in_paths | {word for word, number in in_functions.items() if number > 1}


def _functions(file: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name


def _words(text: str) -> set[str]:
    return {word.lower() for word in _PARTS.findall(text)}


if __name__ == "__main__":
    found = _BESIDE.union(*map(words, sys.argv[1:])) - library_words()
    _LIST.write_text(textwrap.fill(" ".join(sorted(found)), 118) + "\n", "utf-8")
