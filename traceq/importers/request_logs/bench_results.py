"""Results of `vllm bench serve --save-detailed` (one object) and sglang.bench_serving --output-details (an object a line).

They have lists with an entry a request, measured by the client.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from traceq.errors import UnusableTrace
from traceq.importers.request_logs.reading import (
    END_OF_TIME,
    SECOND,
    Clock,
    LoggedRequest,
    RequestLog,
    add_up_gaps,
    complete_request,
    convert_duration,
    decode_json,
    parse_count,
    parse_number,
)

FORMAT = "bench"

_LARGEST = 1 << 30
_SIGNS = (b'"ttfts"', b'"itls"', b'"input_lens"', b'"start_times"')
# What both write before the long lists: texts of prompts may be megabytes long.
_SUMMARY = (b'"request_throughput"', b'"output_throughput"', b'"total_input_tokens"')


def sniff_log(_path: Path, head: bytes) -> bool:
    """Return whether the file begins with the results of a benchmark of a server, with lists of requests or without."""
    begin = head.lstrip(b"\xef\xbb\xbf \t\r\n")
    return begin.startswith(b"{") and (
        (b'"ttfts"' in head and any(sign in head for sign in _SIGNS[1:])) or all(sign in head for sign in _SUMMARY)
    )


def read_log(path: Path) -> RequestLog:
    """Return the requests of all results in the file. Raises UnusableTrace where it has none, or is too large."""
    if path.stat().st_size > _LARGEST:
        raise UnusableTrace(
            f"results of more than {_LARGEST >> 30} GiB; leave out the texts (--save-detailed has them)"
        )
    results, damaged = _read_results(path.read_bytes())
    requests: list[LoggedRequest] = []
    left_out = damaged
    has_starts = False
    for line, result in results:
        has_starts |= isinstance(result.get("start_times"), list)
        for request in _read_requests(line, result):
            if request is None:
                left_out += 1
            else:
                requests.append(request)
    if not requests and not damaged:
        raise UnusableTrace(
            "results of a benchmark without those of each request; let it write them: vllm bench serve --save-result"
            " --save-detailed, or sglang.bench_serving --output-details"
        )
    clock: Clock = "own" if has_starts else "none"
    return RequestLog(FORMAT, "client", clock, requests, len(results) + damaged, left_out)


def _read_results(content: bytes) -> tuple[list[tuple[int, Mapping[str, object]]], int]:
    """Return the objects, with their lines from 1, and how many lines are none: one object, or one a line."""
    whole = _parse_object(content)
    if whole is not None:
        return [(1, whole)], 0
    read = [(number, _parse_object(line)) for number, line in enumerate(content.splitlines(), start=1) if line.strip()]
    return [(number, one) for number, one in read if one is not None], sum(one is None for _, one in read)


def _parse_object(text: bytes) -> Mapping[str, object] | None:
    """Return the object in the text; None for other text."""
    value = decode_json(text)
    return value if isinstance(value, dict) else None


def _read_requests(line: int, result: Mapping[str, object]) -> Iterator[LoggedRequest | None]:
    """Yield the requests of a result; None for one of which it says nothing."""
    lists = {name: value if isinstance(value := result.get(name), list) else [] for name in _COLUMNS}
    for place in range(max(map(len, (lists["ttfts"], lists["itls"])), default=0)):
        row = {name: values[place] if place < len(values) else None for name, values in lists.items()}
        ttft = convert_duration(row["ttfts"])
        gaps = [parse_number(gap) for gap in row["itls"]] if isinstance(row["itls"], list) else []
        tokens: tuple[int, ...] = ()
        if ttft is not None and all(gap is not None and gap >= 0 for gap in gaps):
            tokens = add_up_gaps(ttft, [gap for gap in gaps if gap is not None])
        is_failed = bool(row["errors"]) or row["successes"] is False or (not ttft and not gaps)
        yield complete_request(
            LoggedRequest(
                line=line,
                status="failed" if is_failed else "ok",
                arrival_ns=None if is_failed and not row["start_times"] else _convert_seconds(row["start_times"]),
                prompt_tokens=parse_count(row["input_lens"]),
                output_tokens=parse_count(row["output_lens"]),
                ttft_ns=ttft,
                e2e_ns=convert_duration(row["e2els"] if row["e2els"] is not None else row["latencies"]),
                token_ns=() if is_failed else tokens,
            )
        )


_COLUMNS = (
    "ttfts", "itls", "input_lens", "output_lens", "start_times", "errors", "e2els", "latencies", "successes",
)  # fmt: skip


def _convert_seconds(seconds: object) -> int | None:
    """Return a time in seconds as ns; None for what is none."""
    number = parse_number(seconds)
    return None if number is None or not 0 <= number < END_OF_TIME / SECOND else round(number * SECOND)
