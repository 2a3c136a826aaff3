"""Count what a first `traceq report` of a small trace calls: distinct functions and modules, calls, turns.

python tests/benchmarks/call_path.py [TRACE] [--list]

The cache is empty. Bodies of modules and classes, comprehensions and lambdas do not count; functions that run in threads do.
With --list the functions are printed in the order of their first call.
"""

from __future__ import annotations

import inspect
import os
import sys
import tempfile
import threading
from collections import Counter
from pathlib import Path
from types import CodeType, FrameType

ROOT = Path(__file__).parents[2]
TRACE = ROOT / "fixtures/run/nsys_2026.2.sqlite"


class Calls:
    """The calls of functions of the package, by their code."""

    def __init__(self) -> None:
        self.package = f"{ROOT / 'traceq'}{os.sep}"
        self.number: Counter[CodeType] = Counter()
        self.modules: set[str] = set()
        self.turns = 0
        self._last = ""

    def on_event(self, frame: FrameType, event: str, _argument: object) -> None:
        """Count the call of a function with a name, and the module of whatever is called."""
        code = frame.f_code
        if event != "call" or not code.co_filename.startswith(self.package):
            return
        self.modules.add(code.co_filename)
        if code.co_name.startswith("<") or not code.co_flags & inspect.CO_NEWLOCALS:
            return
        self.number[code] += 1
        self.turns += code.co_filename != self._last
        self._last = code.co_filename


def main() -> None:
    """Print the counts."""
    arguments = [each for each in sys.argv[1:] if each != "--list"]
    sys.path.insert(0, str(ROOT))
    with tempfile.TemporaryDirectory() as folder:
        os.environ |= {"TRACEQ_CACHE": folder}
        os.environ.pop("TRACEQ_NO_CACHE", None)
        sys.argv = ["traceq", "report", *(arguments or [str(TRACE)]), "-o", f"{folder}/report.txt"]
        calls = Calls()
        threading.setprofile(calls.on_event)
        sys.setprofile(calls.on_event)
        try:
            from traceq.cli import main as command

            command(standalone_mode=False)
        finally:
            sys.setprofile(None)
            threading.setprofile(None)
    if "--list" in sys.orig_argv:
        for code, number in calls.number.items():
            print(f"{number:7,} {Path(code.co_filename).relative_to(ROOT)}:{code.co_firstlineno} {code.co_qualname}")
    rooms = Counter(Path(code.co_filename).relative_to(ROOT / "traceq").parts[0] for code in calls.number)
    calls_made, modules = calls.number.total(), len(calls.modules)
    print(f"{len(calls.number):,} functions, {modules:,} modules, {calls_made:,} calls, {calls.turns:,} turns")
    print(", ".join(f"{room} {number}" for room, number in rooms.most_common()))


if __name__ == "__main__":
    main()
