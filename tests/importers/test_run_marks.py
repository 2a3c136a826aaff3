"""What annotate and schedulers write about whole runs, as training logs."""

from __future__ import annotations

import json

import pytest

from traceq.errors import UnusableTrace
from traceq.importers.training_logs import is_training_log, read_training_log

S = 1_000_000_000
DAY = 1_795_910_400 * S  # 2026-11-29
SACCT = """\
JobID|State|Submit|Start|End|ElapsedRaw|AllocTRES
71|PREEMPTED|2026-11-29T00:00:00|2026-11-29T00:10:00|2026-11-29T05:10:00|18000|billing=64,cpu=64,gres/gpu:h100=16,gres/gpu=16,mem=1T,node=2
71.batch|CANCELLED|2026-11-29T00:10:00|2026-11-29T00:10:00|2026-11-29T05:10:00|18000|cpu=64
71|CANCELLED by 1001|2026-11-29T05:09:00|2026-11-29T05:35:00|2026-11-29T06:00:00|1500|billing=64,gres/gpu:h100=8
72|RUNNING|2026-11-29T06:00:00|2026-11-29T06:01:00|Unknown|60|gres/gpu=8
73|PENDING|2026-11-29T06:00:00|Unknown|Unknown|0|
nonsense
"""


def write(tmp_path, text, name="log"):
    path = tmp_path / name
    path.write_text(text)
    return path


def show(log):
    """Events with times in s after the begin of DAY, for marks that lie on whole seconds."""
    return [
        (
            event.line,
            (event.at_ns - DAY) // S,
            None if event.dur_ns is None else event.dur_ns // S,
            event.mark,
            event.phase,
            event.detail,
        )
        for event in log.events
    ]


def test_sacct_tells_when_jobs_waited_ran_and_how_they_ended(tmp_path):
    path = write(tmp_path, SACCT)
    assert is_training_log(path)
    log = read_training_log(path)
    assert (log.format, log.clock, log.gpus, log.lines, log.left_out) == ("slurm", "local", 16, 8, 1)
    assert show(log) == [
        (2, 0, 600, "interval", "queue", None),
        (2, 600, 18000, "interval", "allocation", None),
        (2, 18600, None, "moment", "failure", "PREEMPTED"),
        # it was put into the queue again a minute before its end
        (4, 18600, 1500, "interval", "queue", None),
        (4, 20100, 1500, "interval", "allocation", None),
        (4, 21600, None, "moment", "failure", "CANCELLED"),
        (5, 21600, 60, "interval", "queue", None),
        (5, 21660, None, "begin", "allocation", None),
    ]
    assert [(value.quantity, value.value, (value.at_ns - DAY) // S) for value in log.values] == [
        ("gpus", 16.0, 600),
        ("gpus", 8.0, 20100),
        ("gpus", 8.0, 21660),
    ]


def test_sacct_without_the_columns_says_which_to_ask_for(tmp_path):
    with pytest.raises(UnusableTrace, match="sacct without End and State; write it with --format JobID,State,Submit"):
        read_training_log(write(tmp_path, "JobID|Start\n1|2026-11-29T00:00:00\n"))


@pytest.mark.parametrize("is_old", [False, True])
def test_sacct_json_of_older_and_newer_versions(tmp_path, is_old):
    day = DAY // S

    def wrapped(number):
        return number if is_old else {"set": bool(number), "infinite": False, "number": number}

    job = {
        "job_id": 71,
        "time": {"submission": wrapped(day), "start": wrapped(day + 600), "end": wrapped(day + 700)},
        "state": {"current": "NODE_FAIL"} if is_old else {"current": ["NODE_FAIL"], "reason": "None"},
        "tres": {"allocated": [{"type": "cpu", "count": 4}, {"type": "gres", "name": "gpu", "count": 8}]},
    }
    running = job | {
        "time": {"submission": wrapped(day), "start": wrapped(day + 800), "end": wrapped(0)},
        "state": {"current": ["RUNNING"]},
    }
    log = read_training_log(write(tmp_path, json.dumps({"meta": {}, "jobs": [job, running, {"job_id": "x"}]})))
    assert (log.clock, log.gpus, log.left_out) == ("utc", 8, 1)
    assert show(log) == [
        (1, 0, 600, "interval", "queue", None),
        (1, 600, 100, "interval", "allocation", None),
        (1, 700, None, "moment", "failure", "NODE_FAIL"),
        (2, 700, 100, "interval", "queue", None),
        (2, 800, None, "begin", "allocation", None),
    ]


def pod(**status):
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"creationTimestamp": "2026-11-29T00:00:00Z"},
        "spec": {"containers": [{"resources": {"limits": {"nvidia.com/gpu": "8", "cpu": "64"}}}]},
        "status": {
            "conditions": [
                {"type": "PodScheduled", "status": "True", "lastTransitionTime": "2026-11-29T00:05:00Z"},
            ],
            **status,
        },
    }


def test_pods_tell_of_the_last_restart(tmp_path):
    ran = {
        "startedAt": "2026-11-29T00:06:00Z",
        "finishedAt": "2026-11-29T01:00:00Z",
        "reason": "OOMKilled",
        "exitCode": 137,
    }
    running = pod(
        phase="Running",
        containerStatuses=[
            {
                "restartCount": 1,
                "lastState": {"terminated": ran},
                "state": {"running": {"startedAt": "2026-11-29T01:00:10Z"}},
            }
        ],
    )
    log = read_training_log(write(tmp_path, json.dumps(running)))
    assert (log.format, log.clock, log.gpus) == ("kubernetes", "utc", 8)
    assert show(log) == [
        (1, 0, 300, "interval", "queue", None),
        (1, 300, None, "begin", "allocation", None),
        (1, 360, None, "begin", "start_up", None),
        (1, 3600, None, "moment", "failure", "OOMKilled, exit code 137"),
        (1, 3610, None, "begin", "start_up", None),
    ]


def test_several_pods_have_their_gpus_together_and_preempted_ones_say_so(tmp_path):
    ran = {
        "startedAt": "2026-11-29T00:06:00Z",
        "finishedAt": "2026-11-29T01:00:00Z",
        "reason": "Error",
        "exitCode": 143,
    }
    gone = pod(phase="Failed", containerStatuses=[{"state": {"terminated": ran}}])
    gone["status"]["conditions"].append(
        {"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}
    )
    document = {"apiVersion": "v1", "kind": "List", "items": [gone, pod(phase="Running"), {"kind": "Pod"}]}
    log = read_training_log(write(tmp_path, json.dumps(document)))
    assert (log.gpus, log.left_out) == (16, 1)
    assert [(value.value, (value.at_ns - DAY) // S) for value in log.values] == [(8.0, 300), (16.0, 300), (8.0, 3600)]
    assert (1, 300, 3300, "interval", "allocation", None) in show(log)
    assert (1, 3600, None, "moment", "failure", "PreemptionByScheduler, exit code 143") in show(log)


def test_pods_that_never_ran_are_no_log(tmp_path):
    with pytest.raises(UnusableTrace, match="no pod in it was scheduled"):
        read_training_log(write(tmp_path, json.dumps({"apiVersion": "v1", "kind": "Pod"})))


def test_the_log_of_annotate_has_steps_of_rank_0_and_failures_of_all(tmp_path):
    lines = [
        {"traceq_run": 1, "at": DAY, "phase": "start_up", "mark": "begin", "gpus": 16, "rank": 0},
        {"traceq_run": 1, "at": DAY + S, "phase": "start_up", "mark": "begin", "gpus": 16, "rank": 1},
        {"at": DAY + 9 * S, "step": 1, "dur": 3 * S, "data": S, "numbers": {"tokens": 64, "loss": 2.5}, "rank": 0},
        {"at": DAY + 10 * S, "phase": "checkpoint", "mark": "begin", "step": 1, "rank": 0},
        {"at": DAY + 12 * S, "phase": "checkpoint", "mark": "end", "step": 1, "rank": 0},
        {"at": DAY + 13 * S, "phase": "failure", "mark": "moment", "detail": "x" * 200, "rank": 1},
        {"at": DAY + 13 * S, "phase": "lunch", "mark": "moment"},
    ]
    path = write(tmp_path, "\n".join(map(json.dumps, lines)) + '\n{"at": 1')
    log = read_training_log(path)
    assert (log.format, log.clock, log.gpus, log.rank, log.left_out) == ("traceq_run", "utc", 16, 0, 2)
    assert show(log) == [
        (1, 0, None, "begin", "start_up", None),
        (3, 5, 1, "interval", "data", None),
        (4, 10, None, "begin", "checkpoint", None),
        (5, 12, None, "end", "checkpoint", None),
        (6, 13, None, "moment", "failure", "x" * 80),
    ]
    values = [(value.step, value.quantity, value.value, value.unit) for value in log.values if value.step is not None]
    assert values == [(1, "step_time", 3e9, "ns"), (1, "tokens", 64.0, None), (1, "loss", 2.5, None)]
