"""Which run a trace belongs to that was ingested without --run: traces that a database would judge together have one."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, TypeAlias
from urllib.parse import quote

from traceq.dataset.manifest import Piece
from traceq.dataset.piece import Made
from traceq.errors import WrongUse

# Bytes that file systems and object stores allow the name of a folder, which run=NAME is.
_LONGEST = 255

# Where no folder has a name that can be used.
_NAME = "traces"


# Begin and end (ns), rank, folder and trace_id.
_Span: TypeAlias = tuple[int | None, int | None, int | None, str, int]


class Run(NamedTuple):
    """The run of a piece; `key` is what its traces have in common, None where --run named it."""

    name: str
    key: str | None


def check_run(name: str) -> None:
    """Raise WrongUse where no folder can be called by this run, before there is any work for it."""
    if is_too_long(name):
        raise WrongUse(
            f"--run {name[:40]}...: is too long for the folder of its traces; {_LONGEST - 4} letters of ASCII fit."
        )


def is_too_long(name: str) -> bool:
    """Whether no folder can be called by this run."""
    return len(f"run={quote(name, safe=' ')}") > _LONGEST


def runs_of(known: Sequence[Piece], made: Sequence[Made], stays: Mapping[int, Piece]) -> list[Run]:
    """The run of each piece that was made, beside those that the dataset holds.

    Without --run it is one for each size of the world, else for each folder, as of jobs in a database; for each folder, too,
    where a rank is there twice at one time. It is called like the folder that holds all traces. What is in `stays`, by trace_id,
    keeps its run.
    """
    unnamed = [each for each in made if each.run is None and each.trace_id not in stays]
    keys = _keys(known, unnamed)
    names = _names(known, made, unnamed, keys)
    found = []
    for each in made:
        if each.trace_id in stays:
            found.append(Run(stays[each.trace_id].run, stays[each.trace_id].job_key))
        elif each.run is not None:
            found.append(Run(each.run, None))
        else:
            found.append(Run(names[keys[each.trace_id]], keys[each.trace_id]))
    return found


def _keys(known: Sequence[Piece], unnamed: Sequence[Made]) -> dict[int, str]:
    """What each trace has in common with the others of its job, by trace_id."""
    there = {each.job_key for each in known}
    keys = {}
    for key in {each.job_key for each in unnamed}:
        of_key = [each for each in unnamed if each.job_key == key]
        repeated = _repeated([each for each in known if each.job_key == key], of_key)
        for each in of_key:
            alone = f"{key} in {_folder(each)}"
            keys[each.trace_id] = alone if each.trace_id in repeated or alone in there else str(key)
    return keys


def _repeated(known: Iterable[Piece], made: Sequence[Made]) -> set[int]:
    """Those recorded at a time of which one rank is there from several folders: jobs that ran beside each other."""
    spans: list[_Span] = [(each.begin, each.end, each.rank, "", each.trace_id) for each in known]
    spans += [(each.begin, each.end, _rank(each), _folder(each), each.trace_id) for each in made]
    found: set[int] = set()
    for together in _at_one_time(spans):
        folders = {(rank, folder) for _, _, rank, folder, _ in together if rank is not None}
        if len(folders) > len({rank for rank, _ in folders}):
            found.update(trace_id for *_, trace_id in together)
    return found


def _at_one_time(spans: Sequence[_Span]) -> Iterator[list[_Span]]:
    """The spans that have a time, apart where nobody was recorded any more."""
    together: list[_Span] = []
    last = 0
    timed = [
        (each[0], each[1], place) for place, each in enumerate(spans) if each[0] is not None and each[1] is not None
    ]
    for begin, end, place in sorted(timed):
        if together and begin > last:
            yield together
            together = []
        together.append(spans[place])
        last = max(last, end)
    if together:
        yield together


def _rank(piece: Made) -> int | None:
    return piece.file_rank if piece.rank is None else piece.rank


def _names(
    known: Sequence[Piece], made: Sequence[Made], unnamed: Sequence[Made], keys: Mapping[int, str]
) -> dict[str, str]:
    """A name for each key: that of the run which the dataset has already, else a new one."""
    names = {each.job_key: each.run for each in known if each.job_key is not None}
    taken = {each.run for each in known} | {each.run for each in made}
    folders: dict[str, list[str]] = {}
    for each in unnamed:
        folders.setdefault(keys[each.trace_id], []).append(_folder(each))
    for key in sorted(folders.keys() - names.keys()):
        wanted = Path(_common(folders[key])).name or _NAME
        wanted = _NAME if is_too_long(f"{wanted}-{len(taken)}") else wanted
        free = (f"{wanted}-{again}" if again else wanted for again in range(len(taken) + 1))
        names[key] = next(name for name in free if name not in taken)
        taken.add(names[key])
    return names


def _folder(piece: Made) -> str:
    return os.path.dirname(piece.source)  # noqa: PTH120 - of another machine, maybe


def _common(folders: Sequence[str]) -> str:
    try:
        return os.path.commonpath(folders)
    except ValueError:  # some are relative
        return ""
