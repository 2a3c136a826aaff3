"""What `Traces.report` returns: a report to look at, to compute with, and to save."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from traceq import frames, notebook
from traceq.reports import RENDERERS, SUFFIXES
from traceq.written import written

if TYPE_CHECKING:
    import pandas as pd

    from traceq.reports.report import Report


class ReportView:
    """A report on the traces of a database, which it needs no longer. As the last line of a notebook's cell it shows itself.

    `content` is the report as plain data. The DataFrames are made anew at each access, so that changing one changes
    no other; times are ns and end in `_ns`.
    """

    def __init__(self, content: Report) -> None:
        self.content = content

    @property
    def traces(self) -> pd.DataFrame:
        """A row for each trace: what it is, and how long its steps take."""
        return frames.traces(self.content)

    @property
    def findings(self) -> pd.DataFrame:
        """A row for each finding, per trace the largest saving first; times are per counted step."""
        return frames.findings(self.content)

    @property
    def observations(self) -> pd.DataFrame:
        """A row for each thing that wins no time by itself and matters all the same."""
        return frames.observations(self.content)

    @property
    def ledger(self) -> pd.DataFrame:
        """A row for each device and category with time; per device they add up to the counted steps exactly."""
        return frames.ledger(self.content)

    @property
    def steps(self) -> pd.DataFrame:
        """A row for each counted step and a column for each category of the ledger; they add up to `dur_ns` exactly."""
        return frames.steps(self.content)

    def to_html(self) -> str:
        """One page that needs nothing else."""
        return RENDERERS["html"](self.content)

    def to_markdown(self) -> str:
        """For GitHub, GitLab and Jira."""
        return RENDERERS["md"](self.content)

    def to_text(self) -> str:
        """As `traceq report` prints it."""
        return RENDERERS["text"](self.content)

    def to_json(self) -> str:
        """For programs; the keys are described in docs/report-json.md."""
        return RENDERERS["json"](self.content)

    def save(self, path: str | Path) -> None:
        """Write the report to `path`, in full or not at all, in the format of its suffix: .html, .md, .json or .txt.

        Raises ValueError for another suffix, StoreError when it cannot be written.
        """
        path = Path(path)
        try:
            render = RENDERERS[SUFFIXES[path.suffix.lower()]]
        except KeyError:
            raise ValueError(f"{path}: no format has this suffix; there are {', '.join(SUFFIXES)}") from None
        with written(path) as file:
            file.write(render(self.content).encode())

    def _repr_html_(self) -> str:
        return notebook.as_frame(self.content, self.to_html())

    def _repr_markdown_(self) -> str:
        return notebook.as_markdown(self.content)

    def __repr__(self) -> str:
        return notebook.as_text(self.content)
