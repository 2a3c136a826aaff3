"""Pods of Kubernetes as a log of jobs: kubectl get pod NAME -o json, or a list of them.

Of a container that was restarted, Kubernetes keeps only the last time it ran: earlier restarts are a number (restartCount).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from traceq.errors import UnusableTrace
from traceq.importers.monitors.reading import parse_number, parse_time
from traceq.importers.training_logs.reading import LogEvent, LogValue, TrainingLog

FORMAT = "kubernetes"

_LARGEST = 64 << 20
_UNSAFE = re.compile(r"[^\w .,:-]")


def sniff_log(_path: Path, head: bytes) -> bool:
    """Return whether the file is JSON about pods."""
    begin = head.lstrip(b"\xef\xbb\xbf \t\r\n")
    return (
        begin.startswith(b"{")
        and b'"apiVersion"' in begin
        and re.search(rb'"kind":\s*"(?:Pod|PodList|List)"', begin) is not None
    )


def read_log(path: Path) -> TrainingLog:
    """Return the queueing, starts and failures of all pods in the file. Raises UnusableTrace where it cannot be used."""
    if path.stat().st_size > _LARGEST:
        raise UnusableTrace(
            f"more than {_LARGEST >> 20} MiB of pods; get only those of the run: kubectl get pod -l LABEL -o json"
        )
    try:
        document = json.loads(path.read_bytes().decode("utf-8-sig", "replace"))
    except (ValueError, RecursionError) as error:
        raise UnusableTrace(f"damaged JSON of kubectl: {error}; write it again") from error
    items = document.get("items") if isinstance(document.get("items"), list) else [document]
    pods = [_Pod(number, item) for number, item in enumerate(items, start=1) if isinstance(item, dict)]
    useful = [pod for pod in pods if pod.scheduled is not None]
    if not useful:
        raise UnusableTrace("no pod in it was scheduled; kubectl get pod -o json knows only pods that still exist")
    values = list(_count_gpus(useful))
    return TrainingLog(
        format=FORMAT,
        clock="utc",
        values=values,
        events=[event for pod in useful for event in pod.list_events()],
        gpus=max((int(value.value) for value in values), default=None),
        rank=None,
        lines=len(items),
        left_out=len(items) - len(useful),
    )


class _Pod:
    """The facts of a pod that count: times in ns since 1970, None where it has none."""

    def __init__(self, number: int, item: Mapping[str, object]) -> None:
        self.number = number
        metadata, spec, self._status = (_as_mapping(item.get(key)) for key in ("metadata", "spec", "status"))
        self.created = _parse_moment(metadata.get("creationTimestamp"))
        placed = self._find_condition("PodScheduled").get("lastTransitionTime")
        self.scheduled = _parse_moment(placed or self._status.get("startTime"))
        limits = [
            _as_mapping(_as_mapping(part.get("resources")).get("limits"))
            for part in _list_mappings(spec.get("containers"))
        ]
        counts = [parse_number(value) for limit in limits for name, value in limit.items() if name.endswith("/gpu")]
        self.gpus = int(sum(count for count in counts if count is not None and 0 < count < 1 << 20))
        self._runs = [
            found
            for part in _list_mappings(self._status.get("containerStatuses"))
            for key in ("lastState", "state")
            for kind in ("running", "terminated")
            if (found := _as_mapping(_as_mapping(part.get(key)).get(kind)))
        ]
        ends = [_parse_moment(found.get("finishedAt")) for found in self._runs if "finishedAt" in found]
        is_over = self._status.get("phase") in ("Succeeded", "Failed")
        self.ended = max((end for end in ends if end is not None), default=None) if is_over else None

    def _find_condition(self, kind: str) -> Mapping[str, object]:
        """Return the pod's condition of that type where it is true; empty without."""
        found = _list_mappings(self._status.get("conditions"))
        return next((one for one in found if one.get("type") == kind and one.get("status") == "True"), {})

    def list_events(self) -> Iterator[LogEvent]:
        """Yield the events of the pod."""
        if self.scheduled is None:
            return
        if self.created is not None and self.created <= self.scheduled:
            yield LogEvent(self.number, self.created, self.scheduled - self.created, "interval", "queue")
        if self.ended is None:
            yield LogEvent(self.number, self.scheduled, None, "begin", "allocation")
        else:
            held = max(0, self.ended - self.scheduled)
            yield LogEvent(self.number, self.scheduled, held, "interval", "allocation")
        disrupted = self._find_condition("DisruptionTarget").get("reason") or self._status.get("reason")
        for found in self._runs:
            started, ended = _parse_moment(found.get("startedAt")), _parse_moment(found.get("finishedAt"))
            if started is not None:
                yield LogEvent(self.number, started, None, "begin", "start_up")
            if ended is not None and found.get("exitCode") != 0:
                reason = disrupted if ended == self.ended and disrupted else found.get("reason")
                detail = f"{reason or 'Error'}, exit code {found.get('exitCode')}"
                yield LogEvent(self.number, ended, None, "moment", "failure", None, _UNSAFE.sub("", detail)[:80])


def _count_gpus(pods: list[_Pod]) -> Iterator[LogValue]:
    """Yield the GPUs of all pods together from each time on at which they change to some."""
    changes = [(pod.scheduled, pod.gpus, pod.number) for pod in pods if pod.scheduled is not None]
    changes += [(pod.ended, -pod.gpus, pod.number) for pod in pods if pod.ended is not None]
    now = 0
    for at, change, number in sorted(changes):
        now += change
        if now > 0:
            yield LogValue(number, at, None, "gpus", float(now))


def _as_mapping(value: object) -> Mapping[str, object]:
    """Return the value if it is a JSON object, else an empty one."""
    return value if isinstance(value, dict) else {}


def _list_mappings(value: object) -> list[Mapping[str, object]]:
    """Return the objects of a JSON list; empty for anything else."""
    return [entry for entry in value if isinstance(entry, dict)] if isinstance(value, list) else []


def _parse_moment(value: object) -> int | None:
    """Return ns since 1970 of a time of Kubernetes; None for anything else."""
    found = parse_time(value) if isinstance(value, str) else None
    return None if found is None else found[0]
