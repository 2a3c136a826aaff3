"""The progress bar of an ingest: bytes, rows a second, time left; on stderr, gone when done."""

from __future__ import annotations

import rich.progress as bars
from rich.console import Console

from traceq.diagnosis.rules.registry import RULES


class Bar:
    """A traceq.loading.Progress that draws a bar."""

    def __init__(self) -> None:
        self._bar = bars.Progress(
            bars.TextColumn("{task.description}"),
            bars.BarColumn(),
            bars.DownloadColumn(),
            bars.TextColumn("{task.fields[rate]}"),
            bars.TimeRemainingColumn(),
            console=Console(stderr=True),
            transient=True,
        )

    def start(self, total_bytes: int) -> None:
        """Show the bar; `total_bytes` fill it."""
        self._task = self._bar.add_task("reading", total=total_bytes, rate="")
        self._total = total_bytes
        self._bar.start()

    def advance(self, read_bytes: int, rows: int) -> None:
        """Fill it to `read_bytes`; `rows` in all so far give the rate."""
        elapsed = self._bar.tasks[self._task].elapsed
        rate = f"{rows / elapsed:,.0f} rows/s" if elapsed else ""
        # What follows the last byte has no measure.
        is_read = read_bytes >= self._total
        self._bar.update(
            self._task,
            completed=read_bytes,
            total=None if is_read else self._total,
            description="analysing" if is_read else "reading",
            rate="" if is_read else rate,
        )

    def judge(self) -> None:
        """Say that the rules are run now."""
        self._bar.update(self._task, total=None, description=f"running {len(RULES)} rules", rate="")

    def finish(self) -> None:
        """Take the bar away."""
        self._bar.stop()
