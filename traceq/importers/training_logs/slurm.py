"""Jobs in Slurm's accounting as a log: sacct --parsable2 (-P, with its header) and sacct --json.

    sacct -D -P -j JOB --format JobID,State,Submit,Start,End,AllocTRES

-D lists a job that was requeued once for each time it ran. Steps of jobs (JOB.batch, JOB.0) say nothing more.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from traceq.errors import UnusableTrace
from traceq.importers.monitors.reading import SECOND, parse_time
from traceq.importers.training_logs.jobs import JobRun, log_of_jobs
from traceq.importers.training_logs.reading import TrainingLog

FORMAT = "slurm"

_LARGEST = 64 << 20
_GPUS = re.compile(r"(?:^|,)gres/gpu=(\d{1,7})(?:,|$)")
_GPUS_OF_TYPES = re.compile(r"(?:^|,)gres/gpu:[^=,]+=(\d{1,7})(?=,|$)")
_ENDED_WELL = ("COMPLETED", "PENDING", "RUNNING", "SUSPENDED", "COMPLETING", "CONFIGURING", "RESIZING")


def sniff_log(_path: Path, head: bytes) -> bool:
    """Return whether the file begins with sacct's header with the columns needed, or is the JSON that sacct writes."""
    begin = head.lstrip(b"\xef\xbb\xbf \t\r\n")
    if begin.startswith(b"{"):
        return b'"jobs"' in begin and b'"submission"' in begin and b'"job_id"' in begin
    columns = begin.partition(b"\n")[0].strip().split(b"|")
    return b"JobID" in columns and b"Start" in columns


def read_log(path: Path) -> TrainingLog:
    """Return the queueing, running and failing of all jobs in the file. Raises UnusableTrace where it cannot be used."""
    if path.stat().st_size > _LARGEST:
        raise UnusableTrace(
            f"more than {_LARGEST >> 20} MiB of sacct; list only the jobs of the run: sacct -D -P -j JOB"
        )
    text = path.read_bytes().decode("utf-8-sig", "replace")
    is_json = text.lstrip().startswith("{")
    runs = list(_read_json(text) if is_json else _read_table(text))
    return log_of_jobs(FORMAT, runs, "utc" if is_json else "local", text.count("\n") + 1)


def _read_table(text: str) -> Iterator[JobRun | None]:
    """Yield the jobs of the parsable output, None for a row that cannot be read."""
    rows = csv.DictReader(text.splitlines(), delimiter="|", quoting=csv.QUOTE_NONE)
    missing = {"State", "End"} - set(rows.fieldnames or ())
    if missing:
        raise UnusableTrace(
            f"sacct without {' and '.join(sorted(missing))}; write it with --format JobID,State,Submit,Start,End,AllocTRES"
        )
    for row in rows:
        name, state = row.get("JobID") or "", row.get("State") or ""
        if "." in name:
            continue
        times = {key: _parse_moment(row.get(key)) for key in ("Submit", "Start", "End")}
        gpus = _count_gpus(row.get("AllocTRES") or row.get("ReqTRES") or "")
        if not name or not state or (times["Start"] is None and times["Submit"] is None):
            yield None
        else:
            yield JobRun(rows.line_num, name, times["Submit"], times["Start"], times["End"], _name_ending(state), gpus)


def _parse_moment(text: str | None) -> int | None:
    """Return ns since 1970 of a time of sacct; None for Unknown and None, which it writes for what has not happened."""
    found = parse_time(text or "")
    return None if found is None else found[0]


def _count_gpus(resources: str) -> int | None:
    """Return the GPUs in a list of trackable resources; None without any."""
    whole = _GPUS.search(resources)
    of_types = [int(number) for number in _GPUS_OF_TYPES.findall(resources)]
    return int(whole[1]) if whole else sum(of_types) or None


def _name_ending(state: str) -> str | None:
    """Return why a job ended, as Slurm calls it; None where it ended well, or has not ended."""
    word = state.split(maxsplit=1)[0].rstrip("+") if state.split() else ""
    return None if word in _ENDED_WELL else re.sub(r"[^A-Z_]", "", word)[:40] or None


def _read_json(text: str) -> Iterator[JobRun | None]:
    """Yield the jobs in sacct's JSON, None for one that cannot be read. Raises UnusableTrace for damaged JSON."""
    try:
        jobs = json.loads(text)["jobs"]
    except (ValueError, RecursionError, LookupError, TypeError) as error:
        raise UnusableTrace("damaged JSON of sacct; write it again") from error
    for number, job in enumerate(jobs if isinstance(jobs, list) else (), start=1):
        match job:
            case {"job_id": int(name), "time": {"submission": submitted, "start": started, "end": ended}}:
                endings = [ending for state in _list_states(job) if (ending := _name_ending(state))]
                yield JobRun(
                    number,
                    str(name),
                    _convert_seconds(submitted),
                    _convert_seconds(started),
                    _convert_seconds(ended),
                    endings[0] if endings else None,
                    _gpus_of_job(job),
                )
            case _:
                yield None


def _list_states(job: Mapping[str, object]) -> list[str]:
    """Return the states of a job: newer versions of Slurm nest them, and list several."""
    state = job.get("state") or job.get("job_state")
    found = state.get("current") if isinstance(state, dict) else state
    return [word for word in (found if isinstance(found, list) else [found]) if isinstance(word, str)]


def _convert_seconds(time: object) -> int | None:
    """Return ns since 1970 of a time in s, also where Slurm wraps it with flags; None for 0, which it writes for none."""
    if isinstance(time, dict):
        time = time.get("number") if time.get("set") else None
    return time * SECOND if type(time) is int and 0 < time < 1 << 33 else None


def _gpus_of_job(job: Mapping[str, object]) -> int | None:
    """Return the GPUs that a job has; None where it does not say."""
    match job:
        case {"tres": {"allocated": list(resources)}}:
            entries = [entry for entry in resources if isinstance(entry, dict) and entry.get("type") == "gres"]
            counts = {str(entry.get("name")): entry.get("count") for entry in entries}
            named = {name: count for name, count in counts.items() if type(count) is int and 0 < count < 1 << 24}
            return named.get("gpu") or sum(count for name, count in named.items() if name.startswith("gpu:")) or None
    return None
