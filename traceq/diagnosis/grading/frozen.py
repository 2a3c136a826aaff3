"""Reports of traces, frozen before anybody read the raw files, in a file that is never written anew."""

from __future__ import annotations

from typing import Literal

import msgspec

from traceq.diagnosis.account.line import Judgement
from traceq.diagnosis.grading.output import Output
from traceq.errors import UnusableLabel

_VERSION = 1
_NOTHING = Output()


class AccountLine(msgspec.Struct, frozen=True):
    """A frozen line of the account of a trace, with its verdict; `share` (0..1) is of the step."""

    category: str
    part: str | None
    share: float
    verdict: Judgement
    reason: str


class FrozenTrace(msgspec.Struct, frozen=True):
    """The frozen report of a trace, under the `name` that its label has; `path` is relative to the folder.

    `capture` is the kind and reason of the capture, `header` the report's first line, `first` its first statement.
    `unit` is what times are per; `steps` counts its steps without those left out as warm-up, `whole_steps` with them;
    both are 0 for a window. For a refused file only `error`, the reason, is set.
    """

    name: str
    path: str
    sha256: str
    error: str | None = None
    capture: str = ""
    header: str = ""
    unit: str = ""
    steps: int = 0
    whole_steps: int = 0
    first: str = ""
    output: Output = _NOTHING
    notes: tuple[str, ...] = ()
    account: tuple[AccountLine, ...] = ()


class FrozenPair(msgspec.Struct, frozen=True):
    """The frozen verdict of a comparison of two traces, and its words.

    Without `verdict` the comparison failed, for the reason in `words`. `is_known`: a label already gave the verdict
    when this was frozen.
    """

    base: str
    new: str
    verdict: str | None
    words: str
    is_known: bool = False


class Frozen(msgspec.Struct, frozen=True, kw_only=True):
    """A file of frozen reports: the version of traceq that made them, and when they were frozen (ISO 8601, UTC).

    `commit` is that of traceq's checkout, with `+` if it was changed. `after` names the occasion of a set that was
    frozen after the blind one; None for the blind one. `labels` names the labels that existed by then.
    """

    kind: Literal["traceq-blind"] = "traceq-blind"
    version: int = _VERSION
    traceq: str
    commit: str | None
    frozen: str
    after: str | None
    labels: tuple[str, ...]
    traces: tuple[FrozenTrace, ...]
    pairs: tuple[FrozenPair, ...] = ()


def parse_frozen(content: bytes, where: str) -> Frozen:
    """Return the frozen reports in a file's `content`.

    Raises UnusableLabel, with a text that begins with `where`, for other content and for files of another version.
    """
    try:
        frozen = msgspec.json.decode(content, type=Frozen)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UnusableLabel(
            f"{where}: is not what traceq rules test --blind froze: {error}; restore the original"
        ) from error
    if frozen.version != _VERSION:
        raise UnusableLabel(
            f"{where}: was frozen by traceq {frozen.traceq}, whose files differ; grade it with that version"
        )
    return frozen
