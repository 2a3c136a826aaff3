"""The progress bar of an ingest: what is being done, rows a second, time left; on stderr, gone when done."""

from __future__ import annotations

import rich.progress as bars
from rich.console import Console
from rich.text import Text

from traceq.common.units import size, some
from traceq.diagnosis.rules.registry import RULES

# Parts of the whole, measured on two large traces: reading, analyses, rules.
_READING, _ANALYSES, _RULES = 0.25, 0.6, 0.15


# Below this share of the whole nothing can be said about the rest.
_LEAST_DONE = 0.02

_LONGEST_IN_SECONDS = 100


class _TimeLeft(bars.ProgressColumn):
    """The estimated time left, if the rest goes as fast as all so far; rich's own only looks at the last 30 s."""

    def render(self, task: bars.Task) -> Text:
        """Return `12 s left` or `3 min left`; empty while hardly anything is done."""
        if not task.elapsed or not task.total or task.completed < _LEAST_DONE * task.total:
            return Text("")
        left = task.elapsed * (task.total / task.completed - 1)
        return Text(
            f"{left:.0f} s left" if left < _LONGEST_IN_SECONDS else f"{left / 60:.0f} min left",
            style="progress.remaining",
        )


class ProgressBar:
    """A progress bar on stderr: an implementation of traceq.common.progress.Progress."""

    def __init__(self) -> None:
        self._bar = bars.Progress(
            bars.TextColumn("{task.description}"),
            bars.BarColumn(),
            bars.TaskProgressColumn(),
            bars.TextColumn("{task.fields[detail]}"),
            _TimeLeft(),
            console=Console(stderr=True),
            transient=True,
        )

    def start(self, total_bytes: int) -> None:
        """Show the bar for sources of `total_bytes`."""
        self._total = max(1, total_bytes)
        self._task = self._bar.add_task("reading", total=1.0, detail="")
        self._bar.start()

    def advance(self, read_bytes: int, rows: int) -> None:
        """Show the bytes read so far, and the rate of rows."""
        elapsed = self._bar.tasks[self._task].elapsed
        rate = f", {rows / elapsed:,.0f} rows/s" if elapsed else ""
        share = min(1.0, read_bytes / self._total)
        self._show("reading", share * _READING, f"{size(read_bytes)} of {size(self._total)}{rate}")

    def analyse(self, stage: str, share: float) -> None:
        """Show the analysis that runs now, and the share of analyses done."""
        self._show("analysing", _READING + share * _ANALYSES, stage)

    def judge(self) -> None:
        """Show that rules run now."""
        self._show("judging", 1 - _RULES, f"{len(RULES)} rules")

    def pieces(self, made: int, total: int, read_bytes: int) -> None:
        """Show how many of a dataset's `total` ranks are read."""
        self._show("reading", min(1.0, read_bytes / self._total), f"{made:,} of {some(total, 'rank')}")

    def finish(self) -> None:
        """Remove the bar."""
        self._bar.stop()

    def _show(self, description: str, completed: float, detail: str) -> None:
        """Set the bar to the share `completed` (0..1), with what is being done and a detail."""
        self._bar.update(self._task, completed=completed, description=description, detail=detail)
