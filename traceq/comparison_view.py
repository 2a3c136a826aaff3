"""What `traceq.compare` returns: a comparison to look at, to compute with, and to save."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import asdict
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from traceq import notebook, store
from traceq.comparisons.compare import FLOOR, LEVEL, SENSITIVITY, compare
from traceq.printable import printable
from traceq.reports.comparison_to_json import comparison_to_json
from traceq.reports.compose_comparison import compose_comparison
from traceq.reports.document import Verdict
from traceq.reports.to_html import html_of
from traceq.reports.to_markdown import markdown_of
from traceq.reports.to_text import text_of
from traceq.runs.read import read_runs
from traceq.sides import baseline_runs, of_rank

if TYPE_CHECKING:
    import pandas as pd

    from traceq.comparisons.comparison import Comparison, Statistic
    from traceq.runs.run import Run

Sources = str | Path | Sequence[str | Path]

_TOP = 10


class ComparisonView:
    """What changed from one run to another. As the last line of a notebook's cell it shows itself.

    `content` is the comparison as plain data. Times are ns per step, a difference is the new run less the base.
    """

    def __init__(self, content: Comparison) -> None:
        self.content = content

    @property
    def verdict(self) -> str:
        """regression, improvement, no change, or cannot tell."""
        return self.content.verdict

    @property
    def causes(self) -> pd.DataFrame:
        """A row for each category of the ledger; `delta_ns` adds up to that of the step exactly."""
        import pandas as pd

        columns = ["category", "base_ns", "new_ns", "delta_ns"]
        return pd.DataFrame(
            [[getattr(cause, name) for name in columns] for cause in self.content.causes], columns=columns
        )

    @property
    def parts(self) -> pd.DataFrame:
        """A row for each kernel, copy, collective or wait that was matched; per category they add up to its cause."""
        import pandas as pd

        rows = [{**asdict(part), "name": part.name} for cause in self.content.causes for part in cause.parts]
        return pd.DataFrame(rows)

    def to_text(self, top: int = _TOP) -> str:
        """As `traceq compare` prints it."""
        return text_of(compose_comparison(self.content, top))

    def to_markdown(self, top: int = _TOP) -> str:
        """For a pull request or a ticket."""
        return markdown_of(compose_comparison(self.content, top))

    def to_html(self, top: int = _TOP) -> str:
        """One page that needs nothing else; without timelines, for which `traceq compare -o FILE.html` has the traces."""
        return html_of(compose_comparison(self.content, top))

    def to_json(self) -> str:
        """For programs; the keys are described in docs/compare.md."""
        return comparison_to_json(self.content)

    def _repr_html_(self) -> str:
        verdict = next(block for block in compose_comparison(self.content, _TOP) if isinstance(block, Verdict))
        words = f"<p><strong>traceq compare</strong></p>\n<p>{escape(printable(''.join(verdict.spans)))}</p>"
        return notebook.framed(self.to_html(), words, "traceq compare")

    def __repr__(self) -> str:
        return self.to_text()


def compare_traces(
    base: Sources,
    new: Sources,
    *,
    rank: int | None = None,
    level: float = LEVEL,
    floor_share: float = FLOOR,
    sensitivity_share: float = SENSITIVITY,
    statistic: Statistic = "typical",
    anyway: bool = False,
) -> ComparisonView:
    """What changed from `base` to `new`, each a trace database or a baseline, by path or name, or several to be pooled.

    `rank` is the rank to compare, the lowest when it is None. `level` is how often chance may pass for a change, `floor_share`
    the smallest change to call one, as a share of the base; "no change" is said only when one of `sensitivity_share`
    would have been found. `statistic` is "typical" (the middle half of the steps) or "mean". `anyway` gives a
    verdict although GPUs, shapes or settings differ. Raises StoreError for what is neither, ValueError for a rank that is
    not there.
    """
    sides = [_runs(sources, rank) for sources in (base, new)]
    return ComparisonView(
        compare(
            *sides,
            level=level,
            floor_share=floor_share,
            sensitivity_share=sensitivity_share,
            statistic=statistic,
            anyway=anyway,
        )
    )


def _runs(sources: Sources, rank: int | None) -> list[Run]:
    each = [sources] if isinstance(sources, str | Path) else list(sources)
    return [run for source in each for run in of_rank(_read(source), rank, str(source))]


def _read(source: str | Path) -> list[Run]:
    kept = baseline_runs(source)
    if kept is not None:
        return kept
    with closing(store.connect(Path(source))) as connection:
        return read_runs(connection, str(source))
