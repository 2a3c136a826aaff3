"""The file of predictions that were checked: a line of JSON each, with no name of a file, a host or a kernel in it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from traceq.common.version import __version__
from traceq.errors import UnusableCalibration
from traceq.runs.verify.verify import Verification


@dataclass(frozen=True)
class Calibrated:
    """A prediction and what came of it, ns per step. `pair` identifies the pair of traces."""

    pair: str
    rule: str
    format: str
    step_ns: int
    saving_ns: int
    saving_low_ns: int
    saving_high_ns: int
    won_ns: int
    won_low_ns: int
    won_high_ns: int
    also_gone: int
    prediction: str
    traceq: str


def calibrated(verification: Verification) -> Calibrated | None:
    """What to keep of a verification; None when the prediction could not be judged."""
    change, won = verification.comparison.change, verification.won_interval_ns
    if change is None or won is None or verification.won_ns is None or verification.prediction == "cannot tell":
        return None
    base, new = verification.comparison.base.runs, verification.comparison.new.runs
    finding = verification.finding
    return Calibrated(
        pair=hashlib.sha256(" ".join(run.sha256 for run in (*base, *new)).encode()).hexdigest()[:12],
        rule=finding.rule,
        format=base[0].format,
        step_ns=change.base_ns,
        saving_ns=round(finding.saving_ns),
        saving_low_ns=round(finding.saving_low_ns),
        saving_high_ns=round(finding.saving_high_ns),
        won_ns=verification.won_ns,
        won_low_ns=won[0],
        won_high_ns=won[1],
        also_gone=len(verification.also_gone),
        prediction=verification.prediction,
        traceq=__version__,
    )


def append(path: Path, line: Calibrated) -> bool:
    """Add the line, unless the file has one for this pair, rule and version of traceq; says whether it did."""
    known = list(read(path)) if path.exists() else []
    if any((each.pair, each.rule, each.traceq) == (line.pair, line.rule, line.traceq) for each in known):
        return False
    begins = "\n" if known and not path.read_bytes().endswith(b"\n") else ""
    with path.open("a", encoding="utf-8") as file:
        file.write(f"{begins}{json.dumps(asdict(line))}\n")
    return True


def read(path: Path) -> Iterator[Calibrated]:
    """The lines of the file. Raises UnusableCalibration, which names the line, for anything else."""
    try:
        lines = path.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UnusableCalibration(f"{path}: cannot be read: {error}") from error
    for number, line in enumerate(lines, 1):
        try:
            yield Calibrated(**json.loads(line))
        except (json.JSONDecodeError, TypeError) as error:
            raise UnusableCalibration(
                f"{path}: line {number} is not a line of traceq verify --append: {error}"
            ) from error
