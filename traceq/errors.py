"""Every error traceq raises on purpose, in one tree.

TraceqError
|-- WrongUse          arguments that do not go together; a ValueError as well
|-- UnknownFormat     the file is no trace traceq can read
|-- UnusableTrace     the format is known, the content cannot be used (empty, damaged, unreadable)
|-- NoTraces          a directory, glob or archive holds no trace
|-- StoreError        the trace database cannot be opened, written or trusted
|   `-- SchemaMismatch   the database was made by another version of traceq
|-- QueryError        the user's SQL failed
|-- UnknownMetric     a capture is planned for a metric that does not exist
|-- UnusableRule      a rule of the user's own cannot be used
|-- UnusablePlugin    an installed package adds something to traceq that cannot be used
|-- NoSuchRule        a rule is asked for that does not exist
|-- UnusableBudget    the file of budgets for traceq check cannot be used
|-- UnusableBaseline  a baseline cannot be read, made or found
|-- NoSuchFinding     a finding is asked for that the runs do not have
|-- UnusableCalibration   the file of checked predictions cannot be read
|-- UnusableLabel     a label of a trace, or what was frozen of it, cannot be used
|-- BrokenIdentity    numbers in a trace database that must agree do not
|-- ProgramFailed     a program that an experiment is about does not run as it is
`-- MissingTool       something outside Python is needed (nsys)

Messages say what, where and the way out, in one line; `slug` anchors them in docs/messages.md.
"""

from __future__ import annotations

import re


class TraceqError(Exception):
    """Root of all errors a user can meet; the command line prints it as one line and exits 1."""

    slug = "error"

    def __init_subclass__(cls) -> None:
        """Derive the slug from the name of the class: UnusableTrace is unusable-trace, StoreError is store."""
        cls.slug = re.sub(r"(?<!^)(?=[A-Z])", "-", cls.__name__.removesuffix("Error")).lower()


class WrongUse(TraceqError, ValueError):
    """Arguments that cannot be, or do not go together; the command line exits 2."""


class UnknownFormat(TraceqError):
    """The content is of no format that traceq knows."""


class UnusableTrace(TraceqError):
    """The format is recognised, but nothing can be read from the file."""


class NoTraces(TraceqError):
    """A directory, glob or archive that holds no trace."""


class StoreError(TraceqError):
    """The trace database cannot be opened or written."""


class SchemaMismatch(StoreError):
    """The database holds a schema this version of traceq cannot use."""


class QueryError(TraceqError):
    """The user's query is wrong; the message carries DuckDB's, with line and column."""


class UnknownMetric(TraceqError):
    """A metric that traceq has no plan for; the message names those that come closest."""


class UnusableRule(TraceqError):
    """A rule that a user added cannot be used; the message says what its file lacks."""


class UnusablePlugin(TraceqError):
    """An entry point of an installed package cannot be loaded, or takes a name that is taken."""


class NoSuchRule(TraceqError):
    """No rule has this name; the message names those that come closest."""


class UnusableBudget(TraceqError):
    """A file of budgets that cannot be used; the message names the file, the key and what may stand there."""


class UnusableBaseline(TraceqError):
    """There is no such baseline, or it cannot be used; the message says which there are or what to do."""


class NoSuchFinding(TraceqError):
    """No run has a finding of this id or rule; the message names those there are."""


class UnusableCalibration(TraceqError):
    """The file of checked predictions holds something else."""


class UnusableLabel(TraceqError):
    """Labels of traces, or what was frozen of these, cannot be used; the message says which file, what is wrong, what to do."""


class BrokenIdentity(TraceqError):
    """Numbers of a trace database that must agree do not: of a damaged trace, a changed database, or by a fault of traceq."""


class ProgramFailed(TraceqError):
    """A program that is to be measured fails before anything was changed; the message names its output."""


class MissingTool(TraceqError):
    """A program outside Python is needed and not on PATH."""
