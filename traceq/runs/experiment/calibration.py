"""The lines that an experiment adds to the file of checked predictions: one for each finding whose fix was run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from traceq.runs.experiment.experiment import Checked, Experiment
from traceq.runs.experiment.findings import step_of
from traceq.runs.experiment.trial import BASELINE
from traceq.runs.run import Run
from traceq.runs.verify.calibration import Calibrated, Hardware, Knob, Won, line_of, pair_of
from traceq.runs.verify.verify import hardware

_NS_PER_S = 1_000_000_000


def lines_of(
    found: Experiment,
    profiles: Mapping[str, Run],
    *,
    program: str | None = None,
    cores: int | None = None,
    is_public: bool = False,
) -> Iterator[Calibrated]:
    """A line for each finding that is gone from a recording: of several settings that remove it the first of the plan.

    The one that wins most would win more by chance, too.

    `program` is any name of it, of which a hash is kept; `is_public` keeps the name. Where the finding is still there, it was
    not fixed, and what was won says nothing of the prediction.
    """
    first: dict[str, Checked] = {}
    for each in found.checked:
        if each.state == "gone" and each.won is not None:
            first.setdefault(each.predicted.finding_id, each)
    for each in first.values():
        line = _line(found, profiles, each, program, cores, is_public=is_public)
        if line is not None:
            yield line


def _line(
    found: Experiment,
    profiles: Mapping[str, Run],
    each: Checked,
    program: str | None,
    cores: int | None,
    *,
    is_public: bool,
) -> Calibrated | None:
    base, after = profiles[BASELINE], profiles[each.setting]
    own = found.result(BASELINE)
    rate = own.measures.get("throughput")
    if each.won is None or each.won_interval is None or rate is None or not rate.value:
        return None
    timed = own.work * _NS_PER_S / rate.value
    return line_of(
        next(one for one in base.findings if one.finding_id == each.predicted.finding_id),
        Won(each.won * timed, each.won_interval[0] * timed, each.won_interval[1] * timed, timed),
        how="experiment",
        pair=pair_of(base.sha256, after.sha256),
        step_ns=step_of(base),
        format=base.format,
        hardware=Hardware(hardware([base]), base.device_name, cores),
        program=program,
        is_public=is_public,
        knob=_knob(found, each),
        also_gone=sum(len(one.gone) - 1 for one in found.removed if one.setting == each.setting),
    )


def _knob(found: Experiment, each: Checked) -> Knob | None:
    """The one that the setting turns; None where it turns several."""
    values = list(found.result(each.setting).setting.values.items())
    if len(values) != 1:
        return None
    name, value = values[0]
    return Knob(name, found.result(BASELINE).setting.values.get(name, "default"), value)
