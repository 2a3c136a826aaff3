"""Verify: whether a fix saved what its finding predicted."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from msgspec.structs import replace

from traceq.app.noise import read_known_noise
from traceq.app.read_options import AS_FOUND, LOWEST, KnownNoiseOf, ReadOptions, Which
from traceq.app.source import Sources, as_list, check_writes, read_runs_of
from traceq.app.view import View
from traceq.diagnosis.calibrated import Hardware
from traceq.diagnosis.packs import rules_for
from traceq.reports.comparison.verification import compose_verification
from traceq.reports.comparison.words import drop_folders
from traceq.reports.document import Block
from traceq.reports.renderers.comparison_to_json import verification_to_json
from traceq.runs.verify.accuracy import measure_accuracy
from traceq.runs.verify.calibration import append, calibrate, read
from traceq.runs.verify.verify import Verification, hardware_of
from traceq.runs.verify.verify import verify as verify_runs


class VerificationView(View[Verification]):
    """The result of verifying a finding's fix; `content` is plain data, times are ns per counted step."""

    def blocks(self) -> Iterable[Block]:
        """Return the document on the result as blocks (headings, verdicts, tables, ...), for every format."""
        return compose_verification(self.content)

    def markdown_blocks(self) -> Iterable[Block]:
        """Return the blocks for a page that is passed on, whose commands name sources without their folders."""
        return compose_verification(replace(self.content, comparison=drop_folders(self.content.comparison)))

    def html_blocks(self) -> Iterable[Block]:
        """Return the blocks for a page that is passed on, as for Markdown."""
        return self.markdown_blocks()

    def to_json(self) -> str:
        """Return the result as JSON text, for programs."""
        return verification_to_json(self.content)

    def append_to(self, file: Path, program: str | None = None, *, is_public: bool = False) -> str | None:
        """Append the result to a file of checked predictions; return why nothing was added, None if it was.

        `program` is any name of the program, of which a hash is kept; `is_public` keeps the name.
        """
        line = calibrate(self.content, program, is_public=is_public)
        if line is None:
            return f"nothing is added to {file}, because the gain of the fix is not known"
        return None if append(file, line) else f"{file} already has this pair"


def verify(
    finding: str,
    before: Sources,
    after: Sources,
    which: Which = LOWEST,
    read: ReadOptions = AS_FOUND,
    *,
    noise: KnownNoiseOf | None = None,
    anyway: bool = False,
    calibration: Path | None = None,
) -> VerificationView:
    """Check whether a fix removed `finding`, and how much it saved; traceq.app.api.verify describes the parameters.

    Raises NoSuchFinding when the runs before have no such finding.
    """
    check_writes(read.writes, [*as_list(before), *as_list(after)])
    sides = [read_runs_of(sources, which, read, rules_for(finding)) for sources in (before, after)]
    verification = verify_runs(finding, *sides, noise=read_known_noise(noise, which.rank), anyway=anyway)
    return VerificationView(_with_earlier(verification, calibration, hardware_of(sides[0])))


def _with_earlier(verification: Verification, file: Path | None, kind: Hardware) -> Verification:
    """Return the verification with the accuracy of the rule's predictions in `file`; unchanged if there are none."""
    if file is None or not file.exists():
        return verification
    rule = verification.finding.rule
    earlier = [line for line in read(file) if (line.rule, line.hardware) == (rule, kind)]
    return replace(verification, earlier=measure_accuracy(earlier)) if earlier else verification
