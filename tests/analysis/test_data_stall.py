"""Fetching: how long training waits for input, what was done meanwhile, and what it costs the GPU."""

from __future__ import annotations

from builder import TraceBuilder

ANALYSES = ("launch_state", "copy_overlap", "data_interval", "data_fetch", "data_worker", "data_stall")

IN_PROCESS = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"
MULTI_PROCESS = "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__"
PARTS = "waiting, reading, transform, python, calls, unexplained"
FETCHES = "select step, loader, loader_kind, number, ts, dur from data_fetch order by ts"
STALLS = "select step, data_wait, idle_data, input_copy, data_stall, hidden, fetches from data_stall order by step"


def two_steps(gpu=True):
    """Steps [0, 1000) and [1000, 2000); on the GPU a kernel at the start and one at the end of each."""
    trace = TraceBuilder()
    for step in range(2):
        at = 1000 * step
        trace.annotation(f"ProfilerStep#{step}", at, 1000)
        if gpu:
            trace.kernel("first", at + 20, 80, launched=(at, 10))
            trace.kernel("second", at + 820, 180, launched=(at + 800, 10))
    return trace


# ---- data_fetch


def test_a_fetch_is_the_outermost_range_of_data():
    trace = two_steps()
    trace.annotation("traceq.fetch#train", 100, 400)
    trace.annotation(MULTI_PROCESS, 110, 300)
    trace.annotation("next_batch", 1100, 50)
    # a save that fetches is a save
    trace.annotation("save_checkpoint", 1200, 400)
    trace.annotation("next_batch", 1300, 100)
    assert trace.fill(*ANALYSES).text(FETCHES) == "0 train multi_process 0 100 400\n1 next_batch - 0 1100 50"


DATA = [
    ("annotation", IN_PROCESS, "DataLoader", "in_process"),
    ("annotation", MULTI_PROCESS, "DataLoader", "multi_process"),
    ("annotation", "## load_batch ##", "## load_batch ##", None),
    ("annotation", "[pl][profile][_TrainingEpochLoop].train_dataloader_next", None, None),
    ("annotation", "get_train_batch", "get_train_batch", None),
    ("annotation", "[DALI][Pipeline] Share outputs", None, None),
    ("op", "IteratorGetNext", "IteratorGetNext", None),
    ("python", "torch/utils/data/dataloader.py(703): __next__", None, None),
    ("python", "/site-packages/torchdata/stateful_dataloader/stateful_dataloader.py(432): __next__", None, None),
    ("python", "webdataset/pipeline.py(64): iterator1", None, None),
    ("python", "nvidia/dali/plugin/pytorch/__init__.py(230): __next__", None, None),
    ("python", "tensorflow/python/data/ops/iterator_ops.py(830): __next__", None, None),
    ("python", "accelerate/data_loader.py(552): __iter__", None, None),
    ("python", "transformers/trainer.py(5227): get_batch_samples", None, None),
    ("python", "lightning/pytorch/loops/fetchers.py(131): __next__", None, None),
]
NO_DATA = [
    ("op", "DataLoaderNext"),
    ("op", "IteratorFoo"),
    ("annotation", "my_dataloader_nexts"),
    ("python", "transformers/trainer.py(1): training_step"),
    ("python", "grainy.py(3): next"),
    ("python", "torch/utils/data/dataloader.py(478): __iter__"),
]


def test_what_names_fetching():
    trace = two_steps()
    for number, (kind, name, *_) in enumerate([*DATA, *NO_DATA]):
        trace.cpu(kind, name, 100 + 20 * number, 10)
    trace.fill(*ANALYSES)
    assert trace.rows("select loader, loader_kind from data_fetch order by ts") == [
        (loader or name, loader_kind) for _, name, loader, loader_kind in DATA
    ]
    assert trace.rows("select data_wait, fetches from data_stall") == [(10 * len(DATA), len(DATA)), (0, 0)]


def test_frames_tell_the_kind_of_loader():
    trace = two_steps()
    frame = "torch/utils/data/dataloader.py(703): __next__"
    trace.cpu("python", frame, 100, 100)
    trace.cpu("python", "torch/utils/data/_utils/fetch.py(25): fetch", 110, 50)
    trace.cpu("python", frame, 1100, 100)
    trace.cpu("python", "torch/utils/data/dataloader.py(1270): _get_data", 1110, 50)
    assert trace.fill(*ANALYSES).rows("select loader_kind from data_fetch order by ts") == [
        ("in_process",),
        ("multi_process",),
    ]


DONE = [
    ("os", "poll", "waiting"),
    ("os", "pthread_cond_timedwait", "waiting"),
    ("os", "sem_clockwait", "waiting"),
    ("os", "pread64", "reading"),
    ("os", "openat", "reading"),
    ("os", "ioctl", "calls"),
    ("os", "polling", "calls"),
    ("python", "<built-in method acquire of _thread.lock object at 0x7f00>", "waiting"),
    ("python", "threading.py(355): wait", "waiting"),
    ("python", "multiprocessing/connection.py(429): _poll", "waiting"),
    ("python", "<built-in method read of _io.BufferedReader object at 0x7f00>", "reading"),
    ("python", "dataset.py(3): __getitem__", "python"),
    ("op", "aten::stack", "transform"),
    ("annotation", "decode", "unexplained"),
    ("runtime", "cudaHostAlloc", "calls"),
    ("overhead", "Buffer Flush", "unexplained"),
]


def test_time_in_a_fetch_by_what_was_done():
    trace = two_steps()
    for number, (kind, name, _) in enumerate(DONE):
        trace.annotation(IN_PROCESS, 100 + 40 * number, 30)
        trace.cpu(kind, name, 110 + 40 * number, 15)
    # an OS call inside an API call is how that call works
    trace.annotation(IN_PROCESS, 1100, 40)
    trace.call("cudaHostAlloc", 1110, 30)
    trace.cpu("os", "poll", 1115, 10)
    trace.fill(*ANALYSES)
    assert trace.rows("select waiting, calls, unexplained from data_stall where step = 1") == [(0, 30, 10)]
    expected = []
    for *_, part in DONE:
        found = dict.fromkeys(PARTS.split(", "), 0) | {"unexplained": 15}
        found[part] += 15
        expected.append(tuple(found.values()))
    assert trace.rows(f"select {PARTS} from data_fetch where step = 0 order by ts") == expected
    sums = tuple(sum(column) for column in zip(*expected, strict=True))
    assert trace.rows(f"select {PARTS} from data_stall where step = 0") == [sums]


def test_the_first_fetch_of_an_iterator_shows_where_frames_are_recorded():
    trace = two_steps()
    frame = "torch/utils/data/dataloader.py({}): {}"
    trace.cpu("python", frame.format(703, "__next__"), 50, 10)
    trace.cpu("python", frame.format(703, "__next__"), 70, 10)
    trace.cpu("python", frame.format(478, "__iter__"), 100, 150)
    trace.cpu("python", frame.format(417, "_get_iterator"), 110, 100)
    trace.cpu("python", frame.format(703, "__next__"), 300, 40)
    trace.cpu("python", frame.format(703, "__next__"), 400, 20)
    trace.annotation("next_batch", 500, 10)
    trace.annotation("next_batch", 520, 10)
    assert trace.fill(*ANALYSES).text("select ts, is_first, iterator_dur from data_fetch order by ts") == (
        "50 - -\n70 False -\n300 True 100\n400 False -\n500 - -\n520 - -"
    )
    assert trace.rows("select first_fetch, longest_fetch from data_stall order by step") == [(140, 40), (None, None)]


def test_loaders_are_numbered_apart_and_the_one_with_most_time_is_named():
    trace = two_steps()
    trace.annotation("traceq.fetch#train", 100, 10)
    trace.annotation("traceq.fetch#masks", 120, 30)
    trace.annotation("traceq.fetch#train", 160, 10)
    trace.fill(*ANALYSES)
    assert trace.text("select loader, number from data_fetch order by ts") == "train 0\nmasks 0\ntrain 1"
    assert trace.rows("select loader, fetches from data_stall where step = 0") == [("masks", 3)]


# ---- data_stall


def test_what_is_hidden_behind_queued_work_is_no_stall():
    trace = TraceBuilder()
    trace.annotation("ProfilerStep#0", 0, 1000)
    trace.kernel("long", 20, 480, launched=(0, 10))
    trace.annotation(IN_PROCESS, 100, 700)
    trace.kernel("next", 820, 180, launched=(810, 5))
    assert trace.fill(*ANALYSES).text(STALLS) == "0 700 300 0 300 400 1"
    assert trace.rows("select stalled from data_fetch") == [(300,)]


def test_exposed_copies_of_input_are_stall_in_the_step_they_elapse_in():
    trace = two_steps()
    trace.annotation(IN_PROCESS, 100, 100)
    # the two overlap from 950 to 1050, where the kernel of the first step and that of the second run
    trace.memcpy("h2d", 700, 350, launched=(150, 5), src_memory="pinned", stream=8)
    trace.memcpy("h2d", 950, 200, launched=(160, 5), src_memory="pinned", stream=9)
    trace.annotation("forward", 300, 100)
    trace.memcpy("h2d", 1200, 100, launched=(310, 5), src_memory="pinned", stream=8)
    trace.fill(*ANALYSES)
    assert trace.rows("select step, input_copy from data_stall order by step") == [(0, 120), (1, 20 + 50)]


def test_a_step_without_a_fetch_waits_for_none():
    trace = two_steps()
    trace.annotation("next_batch", 100, 700)
    assert trace.fill(*ANALYSES).text(STALLS) == "0 700 700 0 700 0 1\n1 0 0 0 0 0 0"


def test_a_fetch_before_the_first_step_belongs_to_none():
    trace = TraceBuilder()
    trace.annotation("next_batch", 0, 100)
    trace.annotation("traceq.step#0", 200, 100)
    trace.annotation("traceq.step#1", 300, 100)
    trace.fill(*ANALYSES)
    assert trace.rows("select step, dur from data_fetch") == [(None, 100)]
    assert trace.rows("select data_wait, fetches from data_stall") == [(0, 0), (0, 0)]


def test_without_a_gpu_there_is_no_stall_to_speak_of():
    trace = two_steps(gpu=False)
    trace.annotation(IN_PROCESS, 100, 300)
    assert trace.fill(*ANALYSES).text(STALLS) == "0 300 - - - - 1\n1 0 - - - - 0"
    assert trace.rows("select device, unexplained from data_stall") == [(None, 300), (None, 0)]
    assert trace.rows("select stalled from data_fetch") == [(None,)]


def test_where_nothing_names_fetching_nobody_can_tell():
    trace = two_steps()
    trace.op("aten::mm", 100, 300)
    assert trace.fill(*ANALYSES).text(STALLS) == "0 - - 0 - - 0\n1 - - 0 - - 0"
    assert trace.rows(f"select {PARTS}, workers, loader from data_stall where step = 0") == [(None,) * 8]


def test_without_a_host_side_everything_is_unknown():
    trace = TraceBuilder()
    trace.memcpy("h2d", 0, 100)
    trace.kernel("k", 200, 100)
    trace.fill(*ANALYSES)
    assert trace.text("select * exclude (trace_id, step, device) from data_stall") == " ".join(["-"] * 19)


def test_copies_of_input_are_seen_even_where_fetching_is_not():
    trace = two_steps()
    trace.annotation("forward", 700, 200)
    trace.op("aten::to", 180, 30)
    trace.memcpy("h2d", 300, 50, launched=(200, 5), src_memory="pageable")
    trace.fill(*ANALYSES)
    position = trace.rows("select position from copy_overlap")
    assert position in ([("data",)], [("other",)])
    expected = (50, 50) if position == [("data",)] else (None, 0)
    assert trace.rows("select data_stall, input_copy from data_stall where step = 0") == [expected]


def test_the_device_that_fetching_costs_most():
    trace = TraceBuilder()
    trace.annotation("ProfilerStep#0", 0, 1000)
    for device, end in ((0, 600), (1, 300)):
        trace.kernel("long", 20, end - 20, launched=(5 * device, 5), device=device)
        trace.kernel("next", 850, 150, launched=(810 + 10 * device, 5), device=device)
    trace.annotation(IN_PROCESS, 100, 700)
    trace.fill(*ANALYSES)
    assert trace.rows("select device, idle_data, hidden from data_stall") == [(1, 500, 200)]
    assert trace.rows("select stalled from data_fetch") == [(500,)]


def test_another_training_process_has_fetches_of_its_own():
    trace = two_steps()
    trace.add("thread", thread_id=0, pid=1, tid=1)
    trace.add("thread", thread_id=1, pid=2, tid=2)
    trace.add("thread", thread_id=2, pid=1, tid=3)
    trace.annotation("next_batch", 100, 100)
    trace.annotation("next_batch", 100, 600, thread=1)
    trace.kernel("theirs", 820, 100, launched=(800, 10), device=1, thread=1, pid=2)
    trace.annotation("next_batch", 100, 300, thread=2)
    trace.fill(*ANALYSES)
    assert trace.text("select thread_id, is_training, dur from data_fetch order by thread_id") == (
        "0 True 100\n1 True 600\n2 False 300"
    )
    assert trace.rows("select data_wait, fetches, device, hidden from data_stall where step = 0") == [(100, 1, 1, 100)]
    query = (
        "select thread_id, loader, fetches, dur, stalled, unexplained from data_loader where is_training order by all"
    )
    assert trace.text(query) == "0 next_batch 1 100 100 100\n1 next_batch 1 600 600 600"


# ---- workers


def with_workers(*os_calls, name="pt_data_worker", loader=MULTI_PROCESS):
    trace = two_steps()
    trace.add("thread", thread_id=0, pid=1, tid=1)
    trace.add("thread", thread_id=1, pid=2, tid=2, thread_name=name)
    trace.annotation(loader, 100, 300)
    for call, ts, dur in os_calls:
        trace.cpu("os", call, ts, dur, thread=1)
    return trace.build


def test_workers_are_busy_while_they_do_not_wait(tmp_path):
    trace = with_workers(("read", 100, 200), ("poll", 500, 400), ("futex", 1500, 250), ("read", 2100, 10))(tmp_path)
    assert trace.text("select * exclude (trace_id) from data_worker") == (
        "0 1 worker 900 200 400 500\n1 1 worker 1000 0 250 750"
    )
    assert trace.rows("select workers, worker_busy from data_stall") == [(1, 500 / 900), (1, 0.75)]


def test_of_a_worker_process_only_the_first_thread_is_a_worker(tmp_path):
    trace = with_workers(("read", 100, 200))
    builder = trace.__self__
    builder.add("thread", thread_id=2, pid=2, tid=3, thread_name="pt_data_worker")
    builder.cpu("os", "accept4", 0, 900, thread=2)
    assert trace(tmp_path).rows("select distinct thread_id, role from data_worker") == [(1, "worker")]


def test_the_thread_that_pins_is_no_worker(tmp_path):
    trace = with_workers(("poll", 0, 500), name="pt_data_pin")(tmp_path)
    assert trace.rows("select role, step, dur, busy from data_worker") == [("pin_memory", 0, 500, 0)]
    assert trace.rows("select workers from data_stall") == [(None,), (None,)]


def test_a_loader_that_works_in_the_training_process_has_no_workers(tmp_path):
    trace = with_workers(("poll", 0, 500), name="someone", loader=IN_PROCESS)(tmp_path)
    assert trace.rows("select workers, worker_busy from data_stall") == [(0, None), (None, None)]


def test_a_thread_that_fetches_ahead():
    trace = two_steps()
    trace.annotation("next_batch", 200, 600, thread=1)
    trace.op("decode", 300, 100, thread=1)
    trace.fill(*ANALYSES)
    # without OS calls nobody sees it wait
    assert trace.text("select * exclude (trace_id) from data_worker") == "0 1 prefetch 600 600 0 -"
    assert trace.text("select data_wait, workers, worker_busy from data_stall") == "- 1 -\n- 0 -"


def test_frames_tell_workers():
    trace = two_steps()
    trace.cpu("python", "torch/utils/data/_utils/worker.py(200): _worker_loop", 0, 500, thread=1)
    trace.cpu("python", "torch/utils/data/_utils/pin_memory.py(20): _pin_memory_loop", 0, 500, thread=2)
    trace.cpu("python", "<built-in method poll of select.poll object at 0x1>", 100, 100, thread=1)
    assert trace.fill(*ANALYSES).text("select thread_id, role, active, waiting, busy from data_worker") == (
        "1 worker 400 100 -\n2 pin_memory 500 0 -"
    )
