"""Many tries with damaged and hostile files, counted by what became of them:

    python tests/fuzz/run.py --tries 10000 --seed 1
    python tests/fuzz/run.py --tries 500 --seed 1 --format kineto --depth read
    python tests/fuzz/run.py --seed 1 --format kineto --only 17 --keep FILE

Exits 1 where a try ends otherwise than "ok" or in an error of one line.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import attempt
from attempt import FORMATS, GOOD, OUTCOMES, Outcome

_AT_ONCE = 20


def main() -> int:
    """Run the tries that the command line asks for; 1 where one failed."""
    asked = _parse_arguments()
    if asked.only is not None:
        return _run_one(asked)
    if asked.corpus:
        return _run_corpus()
    formats = [asked.format] if asked.format else list(FORMATS)
    tasks = [
        (format_, asked.seed, range(first, min(first + _AT_ONCE, asked.tries // len(formats))), asked.depth == "whole")
        for first in range(0, asked.tries // len(formats), _AT_ONCE)
        for format_ in formats
    ]
    began = time.monotonic()
    counts: dict[str, Counter[str]] = {format_: Counter() for format_ in formats}
    resident, seconds, failed = 0, 0.0, Counter[str]()
    with ProcessPoolExecutor(asked.jobs, get_context("spawn"), _prepare, [formats]) as workers:
        for (format_, *_), outcomes in zip(tasks, workers.map(_run_tries, tasks), strict=True):
            for number, outcome in outcomes:
                counts[format_][outcome.outcome] += 1
                resident, seconds = max(resident, outcome.resident), seconds + outcome.seconds
                if outcome.outcome == "damage told":
                    print(f"{format_} --only {number}: {outcome.outcome}: {outcome.why}", flush=True)
                elif outcome.outcome not in GOOD:
                    failed[f"{format_} {outcome.outcome}: {_shorten_reason(outcome.why)}"] += 1
                    print(f"{format_} --only {number}: {outcome.outcome}: {_shorten_reason(outcome.why)}", flush=True)
    _print_table(counts)
    print(f"peak of memory {resident >> 20} MiB, {seconds:.0f} s of CPU, {time.monotonic() - began:.0f} s")
    for what, count in failed.most_common():
        print(f"{count:6} {what}")
    return 1 if failed else 0


def _parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--tries", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--format", choices=FORMATS)
    parser.add_argument("--depth", choices=("read", "whole"), default="whole", help="read: the importers only")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--only", type=int, metavar="N", help="the try of this number, with its traceback")
    parser.add_argument("--corpus", action="store_true", help="the files in corpus/, each of which failed once")
    parser.add_argument(
        "--keep", type=Path, metavar="FILE", help="write the file of --only here, its own suffix behind the name"
    )
    return parser.parse_args()


def _run_corpus() -> int:
    _prepare([])
    failed = 0
    for path in sorted((Path(__file__).resolve().parent / "corpus").iterdir()):
        format_ = "log" if path.name.startswith("log_") else "nsys" if path.suffix == ".sqlite" else "kineto"
        outcome = attempt.attempt(lambda path=path: (path.read_bytes(), path.suffix), format_, whole=True)  # type: ignore[misc]
        print(f"{path.name}: {outcome.outcome}: {_shorten_reason(outcome.why)}", flush=True)
        failed += outcome.outcome not in GOOD
    return int(failed > 0)


def _run_one(asked: argparse.Namespace) -> int:
    _prepare([asked.format])
    make = partial(attempt.make_file, asked.format, asked.seed, asked.only)
    if asked.keep:
        content, suffix = make()
        Path(f"{asked.keep}{suffix}").write_bytes(content)
        return 0
    outcome = attempt.attempt(make, asked.format, whole=asked.depth == "whole")
    print(f"{outcome.outcome}\n{outcome.why}\n{outcome.resident >> 20} MiB, {outcome.seconds:.2f} s of CPU")
    return int(outcome.outcome not in GOOD)


def _prepare(formats: list[str]) -> None:
    # What the first try keeps there serves the others: an empty database takes a fifth of a second to make.
    cache = Path(tempfile.gettempdir()) / f"traceq-fuzz-{os.getuid()}"
    os.environ["TRACEQ_CACHE"] = str(cache)
    os.environ.pop("TRACEQ_NO_CACHE", None)
    attempt.prepare(formats)


def _run_tries(task: tuple[str, int, range, bool]) -> list[tuple[int, Outcome]]:
    format_, seed, numbers, whole = task
    return [
        (number, attempt.attempt(partial(attempt.make_file, format_, seed, number), format_, whole=whole))
        for number in numbers
    ]


def _shorten_reason(why: str) -> str:
    """The last line of a traceback with the place in traceq that it comes from; numbers of any size are alike."""
    lines = [line for line in why.strip().splitlines() if line.strip()]
    place = next((line.strip() for line in reversed(lines) if "/traceq/" in line and "/tests/" not in line), "")
    found = re.search(r'traceq/([\w/]+\.py)", line (\d+)', place)
    last = next(
        (line for line in reversed(lines) if re.match(r"[\w.]+(Error|Exception|Invalid|Overflow\w*)\b", line)),
        lines[-1] if lines else "",
    )
    return f"{found[1]}:{found[2]} {last[:160]}" if found else last[:200]


def _print_table(counts: dict[str, Counter[str]]) -> None:
    seen = [each for each in OUTCOMES if each in GOOD or any(found[each] for found in counts.values())]
    print("| format | tries | " + " | ".join(seen) + " |")
    print("|---|" + "---:|" * (len(seen) + 1))
    for format_, found in counts.items():
        print(f"| {format_} | {found.total():,} | " + " | ".join(f"{found[each]:,}" for each in seen) + " |")


if __name__ == "__main__":
    sys.exit(main())
