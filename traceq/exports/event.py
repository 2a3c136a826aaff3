"""Events of the Chrome Trace Event Format as JSON text, for the few that are not made in SQL (exports/sql/)."""

from __future__ import annotations

import json


def micro(nanoseconds: int) -> str:
    """Microseconds with exactly three decimals."""
    whole, rest = divmod(abs(nanoseconds), 1000)
    return f"{'-' if nanoseconds < 0 else ''}{whole}.{rest:03}"


def encode(value: object) -> str:
    """JSON on one line, text as it is."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def metadata(kind: str, pid: int, tid: int, **args: object) -> str:
    """What a process or thread is called, and where it is shown."""
    return encode({"ph": "M", "name": kind, "pid": pid, "tid": tid, "args": args})


def complete(name: str, pid: int, tid: int, ts: int, dur: int, args: object) -> str:
    """A slice; ts and dur in ns."""
    return (
        f'{{"ph":"X","cat":"traceq","name":{encode(name)},"pid":{pid},"tid":{tid}'
        f',"ts":{micro(ts)},"dur":{micro(dur)},"args":{encode(args)}}}'
    )
