"""The true answers to the questions of agent_eval.py, computed from the raw files with the standard library alone."""

from __future__ import annotations

import gzip
import json
import pickle
import sqlite3
from contextlib import closing

LOADER = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"


def query(path, sql):
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
        return connection.execute(sql).fetchall()


def events_of(path):
    return json.loads(gzip.decompress(path.read_bytes()))["traceEvents"]


def times_of(path, name):
    """(start, end) in ns of the annotations whose names begin so, first the earliest."""
    return sorted(
        (round(each["ts"] * 1000), round((each["ts"] + each["dur"]) * 1000))
        for each in events_of(path)
        if each.get("cat") == "user_annotation" and each["name"].startswith(name)
    )


def durations(marks):
    """The durations of steps that follow one another: each lasts to the start of the next, the last to its own end."""
    starts = [start for start, _ in marks]
    return [later - start for start, later in zip(starts, [*starts[1:], marks[-1][1]], strict=True)]


def nsys_ranges(path, pattern):
    return query(
        path,
        "select n.start, n.end from NVTX_EVENTS n left join StringIds s on s.id = n.textId"
        f" where coalesce(n.text, s.value) like '{pattern}' and n.end is not null order by n.start",
    )


def nsys_steps(path):
    """The number of steps, and their mean in ns."""
    steps = durations(nsys_ranges(path, "ProfilerStep#%"))
    return len(steps), sum(steps) / len(steps)


def nsys_idle_in_loader(path):
    """The time per step, ns, in which the loader fetches and nothing runs on the GPU."""
    busy = []
    for table in ("KERNEL", "MEMCPY", "MEMSET"):
        busy += query(path, f"select start, end from CUPTI_ACTIVITY_KIND_{table}")
    busy.sort()
    idle = 0
    for begin, end in nsys_ranges(path, "%DataLoader%"):
        at = begin
        for start, stop in busy:
            if stop > at and start < end:
                idle += max(start - at, 0)
                at = max(at, stop)
        idle += max(end - at, 0)
    return idle / len(nsys_ranges(path, "ProfilerStep#%"))


def nsys_top_kernel(path):
    """The name of the kernel that takes most time, and this time in ns."""
    return query(
        path,
        "select s.value, sum(k.end - k.start) as total from CUPTI_ACTIVITY_KIND_KERNEL k"
        " join StringIds s on s.id = k.demangledName group by 1 order by total desc limit 1",
    )[0]


def copied_to_gpu(path):
    """The number of copies to the GPU, and their bytes."""
    copies = [each for each in events_of(path) if each.get("cat") == "gpu_memcpy" and "HtoD" in each["name"]]
    return len(copies), sum(each["args"]["bytes"] for each in copies)


def longest_step(path):
    """The name of the longest step, and how many times the median it takes."""
    names = [each["name"] for each in sorted(marks_of(path), key=lambda each: each["ts"])]
    steps = durations(times_of(path, "ProfilerStep#"))
    longest = max(range(len(steps)), key=steps.__getitem__)
    return names[longest], steps[longest] / sorted(steps)[len(steps) // 2]


def marks_of(path):
    return [
        each
        for each in events_of(path)
        if each.get("cat") == "user_annotation" and each["name"].startswith("ProfilerStep#")
    ]


def difference_of_means(base, new):
    """By how much the mean step of the Chrome trace `new` is longer than that of the export `base`, ns."""
    steps = durations(times_of(new, "ProfilerStep#"))
    return sum(steps) / len(steps) - nsys_steps(base)[1]


def step_without_loader(path):
    """The mean step, ns, less what the loader takes of it."""
    steps = durations(times_of(path, "ProfilerStep#"))
    fetches = [end - start for start, end in times_of(path, LOADER)]
    return (sum(steps) - sum(fetches)) / len(steps)


def events_of_gpu(path):
    """The number of events of a GPU."""
    return sum(each.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset", "cuda_runtime") for each in events_of(path))


def rocm_kernel_times(path):
    """The time of kernels by GPU (handles of agents in order), ns."""
    (tool,) = json.loads(path.read_text("utf-8"))["rocprofiler-sdk-tool"]
    gpus = sorted(each["id"]["handle"] for each in tool["agents"] if each["type"] == 2)
    spent = dict.fromkeys(range(len(gpus)), 0)
    for each in tool["buffer_records"]["kernel_dispatch"]:
        gpu = gpus.index(each["dispatch_info"]["agent_id"]["handle"])
        spent[gpu] += each["end_timestamp"] - each["start_timestamp"]
    return spent


def memory_peak(path):
    """The most bytes in use, and the place in the program that asked for most of them."""
    (history,) = pickle.loads(path.read_bytes())["device_traces"]  # noqa: S301 - the test wrote it
    there, most, holders = {}, 0, {}
    for event in history:
        if event["action"] == "alloc":
            there[event["addr"]] = event
        elif event["action"] == "free_completed":
            there.pop(event["addr"])
        if (total := sum(each["size"] for each in there.values())) > most:
            most, holders = total, {}
            for each in there.values():
                own = next(frame for frame in each["frames"] if not frame["filename"].startswith("torch/"))
                place = f"{own['filename']}:{own['line']} {own['name']}"
                holders[place] = holders.get(place, 0) + each["size"]
    return most, max(holders, key=holders.__getitem__)
