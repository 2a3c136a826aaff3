"""The real traces that lie beside the checkout, in ../shared. Tests that need them skip when they are absent."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest
import raw_chrome
import raw_nsys
from raw_slices import RawTrace

SHARED = Path(__file__).resolve().parents[2] / ".." / "shared"
TRACES = SHARED / "traces"
PEER_FACTS = SHARED / "peer_facts"
# An AppleDouble file: metadata of another file under that file's name.
NO_TRACE = TRACES / "odd" / "._huvideo_traces_rank_0_step_3.json"

NSYS = sorted(TRACES.glob("nsys/*.sqlite*"))
TORCH = sorted(TRACES.glob("torch/*.json*"))
ODD = sorted(TRACES.glob("odd/hta_*.json*"))


# Larger traces, in bytes as they lie there, are read by the slow tests.
SMALL = 500_000


def is_large(trace: object) -> bool:
    """Whether what a test is parametrized with is a large trace, or the name of one."""
    named = [trace] if isinstance(trace, Path) else [path for path in [*NSYS, *TORCH] if trace == strip_container(path)]
    return any(path.exists() and path.stat().st_size > SMALL for path in named)


def parametrize_paths(paths: list[Path]) -> pytest.MarkDecorator:
    absent = pytest.param(None, marks=pytest.mark.skip(reason="the folder shared/traces is not beside the checkout"))
    return pytest.mark.parametrize(
        "path", paths or [absent], ids=[strip_container(path) for path in paths] or ["absent"]
    )


def mark_slow(names: Iterable[str], every_day: Sequence[str]) -> list[Any]:
    """Return the names as parameters: those in which no text of `every_day` stands are slow."""
    return [
        name if any(word in name for word in every_day) else pytest.param(name, marks=pytest.mark.slow)
        for name in names
    ]


@functools.cache
def strip_container(path: Path) -> str:
    """Return the name of the trace without its container: also the name of its peer facts."""
    for suffix in (".gz", ".sqlite", ".json"):
        path = path.with_name(path.name.removesuffix(suffix))
    return path.name


every_trace = parametrize_paths([*NSYS, *TORCH, *ODD])
every_nsys_trace = parametrize_paths(NSYS)
every_chrome_trace = parametrize_paths([*TORCH, *ODD])
every_torch_trace = parametrize_paths(TORCH)


@functools.cache
def read_raw(path: Path) -> RawTrace:
    """The independent reading of a file, made once."""
    return raw_nsys.read(path) if path in NSYS else raw_chrome.read(path)
