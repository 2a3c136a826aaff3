"""What-if against the truth: savings that the replay promises, beside what simulated programs win when the cause is taken out.

    python tests/benchmarks/whatif_truth.py [alone] [pairs] [injected] [triples] [--format nsys] [--worst 30]

Prints by scenario and by scene: cases, median error, its 95th percentile, share inside the bounds; and the worst cases. An error
is a share of what was really won, or of 1 % of the steps where that is more. Without names of groups: alone, pairs and injected.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable
from pathlib import Path
from tempfile import TemporaryDirectory

TESTS = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS), str(TESTS / "simulation"), str(TESTS.parent / "fixtures" / "make")]

from whatif import ALONE, INJECTED, PAIRS, TRIPLES, WRITERS, Case, list_cases, sum_cases  # noqa: E402

GROUPS = {"alone": ALONE, "pairs": PAIRS, "injected": INJECTED, "triples": TRIPLES}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("groups", nargs="*", default=["alone", "pairs", "injected"])
    parser.add_argument("--format", choices=WRITERS, help="only this one, not both")
    parser.add_argument("--scene", help="only scenes with this in their name")
    parser.add_argument("--worst", type=int, default=30, help="so many of the worst cases")
    asked = parser.parse_args()
    found: list[Case] = []
    for group in asked.groups:
        here = _measured(GROUPS[group], [asked.format] if asked.format else list(WRITERS), asked.scene or "")
        if here:
            _print(f"{group}: by scenario", here, lambda one: "together" if "&" in one.scenario else one.scenario)
            if group in ("alone", "injected"):
                _print(f"{group}: by scene", here, lambda one: one.scene.split("/")[0])
        found += here
    _print_worst(found, asked.worst)
    print(f"\n{'all':32} {sum_cases(found)}")
    print(f"{'1 % of the steps and more':32} {sum_cases(one for one in found if one.matters)}")


def _measured(scenes: Iterable[str], formats: Iterable[str], part: str) -> list[Case]:
    with TemporaryDirectory() as folder:
        return [
            one
            for scene in scenes
            if part in scene
            for trace_format in formats
            for one in list_cases(scene, trace_format, Path(folder))
        ]


def _print(title: str, found: list[Case], key: Callable[[Case], str]) -> None:
    parts: dict[str, list[Case]] = defaultdict(list)
    for one in found:
        parts[key(one)].append(one)
    print(f"\n{title:32} {'cases':>6} {'valued':>6} {'median':>10} {'95 %':>11} {'inside':>9}")
    for name, several in sorted(parts.items()):
        print(f"{name:32} {sum_cases(several)}")


def _print_worst(found: list[Case], count: int) -> None:
    print(f"\n{'worst cases, us':58} {'saved':>9} {'low':>9} {'high':>9} {'won':>9} {'steps':>9}   error")
    for one in sorted(found, key=_badness, reverse=True)[:count]:
        name = f"{one.scene} {one.trace_format} {one.scenario}"
        told = (one.saved, one.low, one.high, one.won, one.whole)
        times = " ".join("        -" if ns is None else f"{ns / 1000:9.1f}" for ns in told)
        error = "        -" if one.error is None else f"{100 * one.error:7.1f} %"
        print(f"{name:58} {times} {error}{'' if one.is_inside else ' outside'}")


def _badness(one: Case) -> float:
    """The error of the value, or how far the truth is outside the bounds."""
    outside = max(one.low - one.won, one.won - one.high, 0) / max(one.won, 0.01 * one.whole)
    return outside if one.error is None else one.error


if __name__ == "__main__":
    main()
