"""Values of knobs: which are numbers and counts, which value a run has, and the work of its step."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import PurePath

from traceq.runs.made_with import find_differences, is_turned
from traceq.runs.run import Run
from traceq.runs.trials.tradeoff import Taken
from traceq.runs.trials.trial import Trial

# Amounts of work, by the names that marks usually have; the first that every run has is the knob.
AMOUNTS = ("batch_size", "samples", "tokens", "sequences")
# What throughput counts, if a run says it.
_WORKS = ("samples", "tokens")
STEPS = "steps"
_NUMBER = re.compile(r"\d{1,15}(?:\.\d{1,15})?")

# Means over steps of different size scatter; what differs by less is the same value, or the same ratio.
_SAME = 0.01
# Work that no step does: what a mark says is not checked where it is read.
_MOST = 1e18


def list_marked(runs: Sequence[Run]) -> list[str]:
    """Return the units of work (samples, tokens, ...) that payload marks of every run count: those in AMOUNTS first."""
    counted = [{key for key, work in run.payload.items() if 0 < work < _MOST} for run in runs]
    keys = set.intersection(*counted) if counted else set()
    return sorted(keys, key=lambda key: (AMOUNTS.index(key) if key in AMOUNTS else len(AMOUNTS), key))


def usual_knob(runs: Sequence[Run]) -> str | None:
    """Return the unit of work that all runs mark (batch size, samples, tokens, sequences; the first found), None without one."""
    return next((key for key in list_marked(runs) if key in AMOUNTS), None)


def take_by_marks(runs: Sequence[Run], knob: str) -> list[Taken]:
    """Return every run with its marked work per step in the unit `knob`; values within 1 % of one another become their mean."""
    ordered = sorted(runs, key=lambda run: run.payload[knob])
    groups: list[list[Run]] = []
    for run in ordered:
        if groups and run.payload[knob] <= groups[-1][0].payload[knob] * (1 + _SAME):
            groups[-1].append(run)
        else:
            groups.append([run])
    means: dict[int, float] = {}
    for group in groups:
        amounts = [run.payload[knob] for run in group]
        mean = amounts[0] if len(set(amounts)) == 1 else sum(amounts) / len(amounts)
        means |= dict.fromkeys(map(id, group), mean)
    return [Taken(means[id(run)], run) for run in runs]


def take_by_snapshots(runs: Sequence[Run], knob: str | None = None) -> tuple[str, list[Taken]] | None:
    """Return the name of a knob and the runs with its values, from the settings recorded in the runs.

    The knob is `knob` if given, else the only turned one with numbers. None unless exactly one such knob differs.
    """
    found: dict[str, list[float]] = {}
    for each in find_differences([[run] for run in runs]):
        texts = [values[0] for values in each.values]
        if (is_turned(each) if knob is None else each.name == knob) and all(map(_NUMBER.fullmatch, texts)):
            found[each.name] = [float(text) for text in texts]
    if len(found) != 1:
        return None
    ((name, values),) = found.items()
    return name, [Taken(value, run) for value, run in zip(values, runs, strict=True)]


def usual_work(taken: Sequence[Taken], knob: str) -> str:
    """Return the unit that throughput counts by default.

    It is the knob if that is samples, tokens or sequences; else samples or tokens if every run marks them; else the
    batch size if that is the knob; else steps. The knob counts only if every run has a value of it.
    """
    keys = list_marked([taken_run.run for taken_run in taken])
    has_values = all(taken_run.value is not None for taken_run in taken)
    if knob in AMOUNTS[1:] and has_values:
        return knob
    for key in _WORKS:
        if key in keys:
            return key
    return knob if knob in AMOUNTS and has_values else STEPS


def is_amount(taken: Sequence[Taken], knob: str, work: str) -> bool:
    """Return whether the knob is an amount of work: by its name, by marks, or because work grows with it in proportion."""
    if any(taken_run.value == 0 for taken_run in taken):
        return False
    if knob in AMOUNTS or knob in list_marked([taken_run.run for taken_run in taken]):
        return True
    ratios = [taken_run.run.payload.get(work, 0.0) / taken_run.value for taken_run in taken if taken_run.value]
    several = len({taken_run.value for taken_run in taken}) > 1
    return several and len(ratios) == len(taken) and 0 < max(ratios) <= min(ratios) * (1 + _SAME)


def work_of(taken: Taken, knob: str, work: str) -> float:
    """Return the run's work per step in the unit `work`: as marked, else the knob's value if the knob is the unit, else 1."""
    if 0 < taken.run.payload.get(work, 0.0) < _MOST:
        return taken.run.payload[work]
    return taken.value if work == knob and taken.value is not None else 1.0


# The longest of a knob first, so that none is taken for the end of another.
_LABELS = {
    "batch_size": ("batch_size", "batchsize", "batch", "mbs", "bs"),
    "num_workers": ("num_workers", "workers", "nw"),
    "prefetch_factor": ("prefetch_factor", "prefetch"),
    "samples": ("samples",),
    "sequences": ("sequences", "seqs"),
    "tokens": ("tokens", "tok"),
    "seq_len": ("seq_len", "seqlen", "seq"),
}
# Single letters say enough only where they and a number are all of the name.
_LETTERS = {"batch_size": "b", "num_workers": "w"}
# All of these are counts: in bs64.1 the second number is that of a repetition.
_COUNT = r"\d{1,15}"
# A word that numbers traces as often as it tells sizes: only a name that sets it apart (batch_64, batch=64) tells one.
_ORDINAL = {"batch"}
_ENDINGS = re.compile(
    r"(?:\.(?:pt|trace|json|sqlite|duckdb|nsys-rep|qdrep|db|rpd|pb|xplane|parquet|gz|zst|xz|bz2|zip))+\Z"
)


def values_of_names(paths: Sequence[str], knob: str | None = None) -> tuple[str, list[float]] | None:
    """Return the knob whose number stands in all file names, and those numbers; None for several such knobs or none.

    If `knob` is given only that one is looked for, by its name or a usual short form (bs64, workers=4).
    """
    stems = [_ENDINGS.sub("", PurePath(path).name) for path in paths]
    found: dict[str, list[float]] = {}
    for name in [knob] if knob is not None else _LABELS:
        values = [_find_value(stem, name) for stem in stems]
        known = [value for value in values if value is not None]
        if len(known) == len(values) and len(set(known)) > 1:
            found[name] = known
    return next(iter(found.items())) if len(found) == 1 else None


def differing_numbers(paths: Sequence[str]) -> list[str] | None:
    """Return the numbers in which otherwise equal file names differ; None unless there is exactly one such place."""
    parts = [re.split(r"(\d+)", _ENDINGS.sub("", PurePath(path).name)) for path in paths]
    if len({len(part) for part in parts}) != 1:
        return None
    differing = [each for each in zip(*parts, strict=True) if len(set(each)) > 1]
    return list(differing[0]) if len(differing) == 1 and all(each.isdigit() for each in differing[0]) else None


def _find_value(stem: str, knob: str) -> float | None:
    """Return the number that follows the knob's name or short form in the file name `stem`; None without exactly one."""
    labels = [
        re.escape(label) + ("[_=-]" if label in _ORDINAL else "[_=-]?")
        for label in dict.fromkeys((knob, *_LABELS.get(knob, ())))
    ]
    pattern = rf"(?<![^\W\d_])(?:{'|'.join(labels)})({_COUNT})(?![^\W_])"
    values = {float(value) for value in re.findall(pattern, stem, re.IGNORECASE)}
    if not values and (letter := _LETTERS.get(knob)):
        alone = re.fullmatch(rf"{letter}[_=-]?({_COUNT})", stem, re.IGNORECASE)
        values = {float(alone[1])} if alone else set()
    return values.pop() if len(values) == 1 else None


_RANKS = re.compile(
    r"(n|num|number_of)?_?(gpus|devices|ranks|nodes|replicas)|num_gpu|nproc\w*|n_proc\w*|world_?size", re.IGNORECASE
)
_COUNTS = re.compile(r"worker|thread|proc|rank|gpus|devices|world|cores|cpus|nodes|replica|jobs", re.IGNORECASE)
_WORK = re.compile(r"batch|samples|tokens|seq|accum|micro|^bs$", re.IGNORECASE)
_SIGNED = re.compile(r"-?\d{1,15}(\.\d{1,15})?(e-?\d{1,2})?", re.IGNORECASE | re.ASCII)


def number_in(text: str) -> float | None:
    """Return a knob's value as a number; None if it is not one."""
    return float(text) if _SIGNED.fullmatch(text) else None


def count_in(text: str) -> int | None:
    """Return a knob's value as a count from 1 to 999999; None for anything else."""
    return int(text) if text.isascii() and text.isdigit() and 0 < len(text) < len("1000000") and int(text) else None


def is_count(knob: str) -> bool:
    """Return whether the knob's name says that it counts parallel units: workers, threads, processes, GPUs, ..."""
    return _COUNTS.search(knob) is not None or is_ranks(knob)


def is_of_work(knob: str) -> bool:
    """Return whether the knob's name says that it changes the work of a step (batch size, sequence length, ...)."""
    return _WORK.search(knob) is not None


def is_ranks(knob: str) -> bool:
    """Return whether the knob's name says that it counts ranks, each of which does the work of a step."""
    return _RANKS.fullmatch(knob) is not None


def is_work_known(knobs: Iterable[str], trials: Sequence[Trial], work: str) -> bool:
    """Return whether throughput can be compared between the trials' settings, which turn `knobs`; `work` is its unit.

    It cannot if steps are counted and their work differs, or a knob may change it.
    """
    if work != STEPS:
        return True
    names = {name for trial in trials for name in trial.work}
    differ = any(len({trial.work[name] for trial in trials if name in trial.work}) > 1 for name in names)
    return not differ and not any(is_of_work(knob) or is_ranks(knob) for knob in knobs)
