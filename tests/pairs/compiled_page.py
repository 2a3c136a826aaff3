"""The table of docs/compile.md: what was won in the programs of fixtures/make/compiled, and what was predicted."""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from pathlib import Path

from pairs.compiled import Measured

PAGE = Path(__file__).parents[2] / "docs" / "compile.md"
HEADING = "## Ten programs, slow and fixed"
_COLUMNS = (
    "| program | slow | fixed | won | likely | range | error | inside | named |\n|---|---|---|---|---|---|---|---|---|"
)


def won_of(measured: Measured) -> float:
    """Return the share of a step that the fix won: the median of the turns."""
    return statistics.median(
        1 - fixed / slow for slow, fixed in zip(measured["slow_ns"], measured["fixed_ns"], strict=True)
    )


def error_of(measured: Measured) -> float | None:
    """Return how far likely is from what was won, as a share of that; None where nothing was predicted."""
    predicted = measured["predicted"]
    return None if predicted is None else (predicted["likely"] - won_of(measured)) / won_of(measured)


def is_inside(measured: Measured) -> bool:
    """Return whether what was won lies in the range that was predicted, to a tenth of a per cent, as reports print it."""
    predicted = measured["predicted"]
    if predicted is None:
        return False
    return round(predicted["low"], 3) <= round(won_of(measured), 3) <= round(predicted["high"], 3)


def describe_pair(name: str, measured: Measured) -> str:
    """Return a row of the table."""
    slow, fixed = (statistics.median(measured[side]) / 1e6 for side in ("slow_ns", "fixed_ns"))  # type: ignore[literal-required]
    predicted, error = measured["predicted"], error_of(measured)
    if predicted is None or error is None:
        return f"| {name} | {slow:.3g} ms | {fixed:.3g} ms | {won_of(measured):.1%} | nothing | | | no | no |"
    said = f"{predicted['likely']:.1%} | {predicted['low']:.1%} to {predicted['high']:.1%} | {error:+.0%}"
    yes = ["yes" if each else "no" for each in (is_inside(measured), measured["names"])]
    return f"| {name} | {slow:.3g} ms | {fixed:.3g} ms | {won_of(measured):.1%} | {said} | {' | '.join(yes)} |"


def table_of(results: Mapping[str, Measured]) -> str:
    """Return the table of all programs."""
    return "\n".join([_COLUMNS, *(describe_pair(name, measured) for name, measured in results.items())])


def write_page(results: Mapping[str, Measured]) -> None:
    """Replace the table of the page."""
    before, heading, after = PAGE.read_text("utf-8").partition(HEADING)
    introduction = after.partition("\n| program |")[0]
    rest = after.partition("\n\n## ")[2]
    PAGE.write_text(
        f"{before}{heading}{introduction}\n{table_of(results)}\n" + (f"\n## {rest}" if rest else ""), "utf-8"
    )
