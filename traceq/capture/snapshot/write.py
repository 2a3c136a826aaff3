"""The snapshot as a file beside a trace: formats/made_with.py says what may stand in it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from traceq.capture.snapshot import machine, program
from traceq.capture.snapshot.seen import Seen
from traceq.common.files import replace_file
from traceq.common.version import __version__
from traceq.formats.made_with import ENVIRONMENT, VERSION, normalize_value, path_beside, size_of_content

Things = Sequence[Mapping[str, object]]


def write_beside(trace: Path, torch: Any, seen: Seen) -> None:
    """Write the environment snapshot of this process beside its trace, which must be complete.

    Failures are ignored: a program is recorded for its trace.
    """
    with suppress(Exception):
        # Never that of another trace that had the name before.
        path_beside(trace).unlink(missing_ok=True)
        write(path_beside(trace), torch, seen, size_of_content(trace))


def write(path: Path, torch: Any, seen: Seen | None, size: int | None = None) -> None:
    """Write the environment snapshot to `path`; without `torch` and `seen`, of the machine only.

    `size` is the size of the trace's content in bytes, by which the snapshot is known to belong to it.
    """
    content: dict[str, object] = {"traceq_made_with": VERSION, "traceq": __version__}
    content |= {} if size is None else {"trace_bytes": size}
    content |= _collect_topics(torch, seen)
    with replace_file(path) as file:
        file.write((json.dumps(content, indent=1) + "\n").encode())


def _collect_topics(torch: Any, seen: Seen | None) -> dict[str, Things]:
    """Return by topic (host, gpu, software, ...) the facts of each thing, as text by name; topics without facts are left out."""
    asked: dict[str, Callable[[], Things]] = {
        "host": lambda: [machine.collect_host()],
        "gpu": machine.collect_gpus,
        ENVIRONMENT: lambda: [program.collect_environment()],
    }
    if torch is not None and seen is not None:
        asked["software"] = lambda: [program.collect_software(torch)]
        with suppress(Exception):  # a PyTorch that is different inside
            asked |= _list_program_topics(torch, seen)
    topics = {topic: _keep_public(topic, ask) for topic, ask in asked.items()}
    return {topic: things for topic, things in topics.items() if things}


def _list_program_topics(torch: Any, seen: Seen) -> dict[str, Callable[[], Things]]:
    found = program.find_alive(torch)
    compiled = program.collect_compile(found)
    return {
        "program": lambda: [program.collect_program()],
        "precision": lambda: [
            {
                **program.collect_precision(torch),
                "autocast": seen.autocast(compiled),
                "grad_scaler": program.has_scaler(found),
            }
        ],
        "threads": lambda: [program.collect_threads(torch)],
        "loader": lambda: seen.loaders(found),
        "optimizer": lambda: program.collect_optimizers(torch, found),
        "compile": lambda: [compiled],
        "parallel": lambda: [
            {
                **program.collect_parallel(torch, found),
                "backward_passes": seen.backward_passes(),
                "start_method": program.start_method(),
            }
        ],
    }


def _keep_public(topic: str, ask: Callable[[], Things]) -> Things:
    """Return the facts that `ask` returns and that may be kept, as text; empty if `ask` fails."""
    facts: Things = []
    with suppress(Exception):
        facts = [
            {
                name: text
                for name, value in sorted(row.items())
                if (text := normalize_value(topic, name, value)) is not None
            }
            for row in ask()
        ]
    return [fact for fact in facts if fact]
