"""What is true of a memory snapshot, read with Python's own unpickler, which is refused every class, and with no traceq.

`python tests/truth/raw_memory.py` tells where a label of memory/ differs; `--write` puts the recomputed numbers in.
"""

from __future__ import annotations

import json
import pickle
import re
import sys
from collections import Counter
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
LABELS = HERE / "memory"
SHARED = HERE.parents[2] / "shared"
_LIBRARY = re.compile(r"/site-packages/|/lib/python3")


class _OnlyPrimitives(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        raise pickle.UnpicklingError(f"{module}.{name}")


def load(path: Path) -> dict[str, Any]:
    with path.open("rb") as file:
        told: dict[str, Any] = _OnlyPrimitives(file).load()
    return told


def count_facts(snapshot: dict[str, Any]) -> dict[str, Any]:
    """Return counts, sums and the peak of a snapshot of one device. Times are us since the epoch, sizes bytes."""
    (history,) = snapshot["device_traces"]
    blocks = [block for segment in snapshot["segments"] for block in segment["blocks"]]
    active = {block["address"]: block for block in blocks if block["state"] != "inactive"}
    allocated = {event["addr"] for event in history if event["action"] == "alloc"}
    # Addresses are used again: what is at the end and was never allocated in the history is older than it.
    older = [block for address, block in active.items() if address not in allocated]
    live = {block["address"]: (block["requested_size"], block["frames"]) for block in older}
    used = peak = sum(size for size, _ in live.values())
    at, held = None, dict(live)
    for number, event in enumerate(history):
        if event["action"] == "alloc":
            live[event["addr"]] = (event["size"], event["frames"])
            used += event["size"]
        elif event["action"] == "free_completed":
            used -= live.pop(event["addr"])[0]
        if used > peak:
            at, peak, held = number, used, dict(live)
    return {
        "actions": dict(sorted(Counter(event["action"] for event in history).items())),
        "segments": len(snapshot["segments"]),
        "blocks": dict(sorted(Counter(block["state"] for block in blocks).items())),
        "older": len(older),
        "peak": {
            "bytes": peak,
            "event": at,
            "time_us": None if at is None else history[at]["time_us"],
            "after_us": None if at is None else history[at]["time_us"] - history[0]["time_us"],
            "allocations": len(held),
            "owners": _rank_owners(held),
        },
        "end": {
            "requested": sum(block["requested_size"] for block in active.values()),
            "blocks": sum(block["size"] for block in active.values()),
            "reserved": sum(segment["total_size"] for segment in snapshot["segments"]),
        },
    }


def _rank_owners(held: dict[int, tuple[int, list[dict[str, Any]]]]) -> list[list[Any]]:
    """The program's own innermost lines that hold most: line, bytes, allocations."""
    sizes: Counter[str] = Counter()
    counts: Counter[str] = Counter()
    for size, frames in held.values():
        sizes[_find_own_line(frames)] += size
        counts[_find_own_line(frames)] += 1
    return [[line, size, counts[line]] for line, size in sizes.most_common(3)]


def _find_own_line(frames: list[dict[str, Any]]) -> str:
    for frame in frames:
        if frame["filename"].endswith(".py") and not _LIBRARY.search(frame["filename"]):
            return f"{frame['filename'].rsplit('/', 1)[-1]}:{frame['line']} {frame['name']}"
    return "no line of the program"


def main() -> None:
    for path in sorted(LABELS.glob("*.json")):
        label = json.loads(path.read_text("utf-8"))
        found = count_facts(load(SHARED / label["trace"]))
        if "--write" in sys.argv:
            path.write_text(json.dumps({**label, "facts": found}, indent=2) + "\n", "utf-8")
        elif label["facts"] != found:
            sys.stdout.write(f"{path.stem}: {found}\n")


if __name__ == "__main__":
    main()
