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


class TraceqError(Exception):
    """Root of all errors a user can meet; the command line prints it as one line and exits 1."""

    slug = "error"


class WrongUse(TraceqError, ValueError):
    """Arguments that cannot be, or do not go together; the command line exits 2."""

    slug = "wrong-use"


class UnknownFormat(TraceqError):
    """The content is of no format that traceq knows."""

    slug = "unknown-format"


class UnusableTrace(TraceqError):
    """The format is recognised, but nothing can be read from the file."""

    slug = "unusable-trace"


class NoTraces(TraceqError):
    """A directory, glob or archive that holds no trace."""

    slug = "no-traces"


class StoreError(TraceqError):
    """The trace database cannot be opened or written."""

    slug = "store"


class SchemaMismatch(StoreError):
    """The database holds a schema this version of traceq cannot use."""

    slug = "schema-mismatch"


class QueryError(TraceqError):
    """The user's query is wrong; the message carries DuckDB's, with line and column."""

    slug = "query"


class UnknownMetric(TraceqError):
    """A metric that traceq has no plan for; the message names those that come closest."""

    slug = "unknown-metric"


class UnusableRule(TraceqError):
    """A rule that a user added cannot be used; the message says what its file lacks."""

    slug = "unusable-rule"


class UnusablePlugin(TraceqError):
    """An entry point of an installed package cannot be loaded, or takes a name that is taken."""

    slug = "unusable-plugin"


class NoSuchRule(TraceqError):
    """No rule has this name; the message names those that come closest."""

    slug = "no-such-rule"


class UnusableBudget(TraceqError):
    """A file of budgets that cannot be used; the message names the file, the key and what may stand there."""

    slug = "unusable-budget"


class UnusableBaseline(TraceqError):
    """There is no such baseline, or it cannot be used; the message says which there are or what to do."""

    slug = "unusable-baseline"


class NoSuchFinding(TraceqError):
    """No run has a finding of this id or rule; the message names those there are."""

    slug = "no-such-finding"


class UnusableCalibration(TraceqError):
    """The file of checked predictions holds something else."""

    slug = "unusable-calibration"


class UnusableLabel(TraceqError):
    """Labels of traces, or what was frozen of these, cannot be used; the message says which file, what is wrong, what to do."""

    slug = "unusable-label"


class BrokenIdentity(TraceqError):
    """Numbers of a trace database that must agree do not: of a damaged trace, a changed database, or by a fault of traceq."""

    slug = "broken-identity"


class ProgramFailed(TraceqError):
    """A program that is to be measured fails before anything was changed; the message names its output."""

    slug = "program-failed"


class MissingTool(TraceqError):
    """A program outside Python is needed and not on PATH."""

    slug = "missing-tool"
