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
|-- UnreachableProgram   a running program cannot be asked for a trace
`-- MissingTool       something outside Python is needed (nsys)

Messages say what, where and the way out, in one line; `slug` anchors them in docs/messages.md.
"""

from __future__ import annotations

import re


class TraceqError(Exception):
    """The root of all errors that a user can meet; the command line prints the message as one line and exits with 1."""

    slug = "error"

    def __init_subclass__(cls) -> None:
        """Derive the slug from the name of the class: UnusableTrace is unusable-trace, StoreError is store."""
        cls.slug = re.sub(r"(?<!^)(?=[A-Z])", "-", cls.__name__.removesuffix("Error")).lower()


class WrongUse(TraceqError, ValueError):
    """Arguments are impossible or do not go together; the command line exits with 2."""


class UnknownFormat(TraceqError):
    """The file's content is of no trace format that traceq knows."""


class UnusableTrace(TraceqError):
    """The file's format is recognised, but its content cannot be used (empty, damaged, unreadable)."""


class NoTraces(TraceqError):
    """A directory, glob or archive holds no trace."""


class StoreError(TraceqError):
    """The trace database cannot be opened, written or trusted."""


class SchemaMismatch(StoreError):
    """Another version of traceq made the database, with a schema that this version cannot use."""


class QueryError(TraceqError):
    """The user's query is wrong; the message carries DuckDB's, with line and column."""


class UnknownMetric(TraceqError):
    """A capture is planned for a metric that does not exist; the message names the closest ones."""


class UnusableRule(TraceqError):
    """A user's own rule cannot be used; the message says what its file lacks."""


class UnusablePlugin(TraceqError):
    """An entry point of an installed package cannot be loaded, or its name is taken already."""


class NoSuchRule(TraceqError):
    """No rule has this name; the message names the closest ones."""


class UnusableBudget(TraceqError):
    """A budget file for `traceq check` cannot be used; the message names the file, the key and what is allowed there."""


class UnusableBaseline(TraceqError):
    """A baseline cannot be found, read or made; the message says which there are or what to do."""


class NoSuchFinding(TraceqError):
    """No run has a finding of this id or rule; the message names the existing ones."""


class UnusableCalibration(TraceqError):
    """The file of checked predictions cannot be read or written, or holds something else."""


class UnusableLabel(TraceqError):
    """Labels of traces, or frozen results, cannot be used; the message names the file, the error and the way out."""


class BrokenIdentity(TraceqError):
    """Numbers in a trace database that must agree do not: a damaged trace, a changed database, or a bug in traceq."""


class ProgramFailed(TraceqError):
    """The unchanged program of an experiment fails; the message names its output."""


class UnreachableProgram(TraceqError):
    """A running program does not answer, refuses, or records nothing; the message says what would let it."""


class MissingTool(TraceqError):
    """A program or package that traceq needs is not installed, such as nsys."""
