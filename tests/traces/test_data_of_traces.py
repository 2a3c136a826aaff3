"""Fetching of input in real traces: identities on all of them, and figures of the fix that put workers into a loader."""

from __future__ import annotations

import pytest
from trace_files import TORCH, TRACES, every_trace

PARTS = "waiting + reading + transform + python + calls + unexplained"
TRAINING = "thread_id = (select any_value(thread_id) from host_ledger)"

# Rows that break the rule.
BROKEN = {
    "the parts of a fetch add up to it": f"select slice_id from data_fetch where {PARTS} <> dur",
    "a fetch holds a device up while it lasts": "select slice_id from data_fetch where stalled not between 0 and dur",
    "every step has a row": "from data_stall full join step using (trace_id, step) where name is null or fetches is null",
    "what is waited for is in the host's ledger": """
        select step from data_stall
        left join (select step, sum(dur) as dur from host_ledger where category = 'data' group by step) as h using (step)
        where data_wait <> coalesce(h.dur, 0)
    """,
    "fetches are what is waited for": f"""
        select 1 from (select sum(data_wait) as wait from data_stall),
            -- a step that nothing marks can begin in a fetch
            (
                select sum(greatest(least(f.ts + f.dur, s.ends) - greatest(f.ts, s.begins), 0)) as dur
                from data_fetch as f, (select min(ts) as begins, max(ts_end) as ends from step) as s
                where f.{TRAINING}
            )
        where wait <> dur
    """,
    "a stall is what the device idles for data, and copies": """
        select step from data_stall as d
        where data_stall < idle_data or data_stall <> coalesce(idle_data, 0) + coalesce(input_copy, 0)
            or idle_data <> coalesce((select sum(dur) from time_ledger as t
                where t.step = d.step and t.device = d.device and category = 'idle_data'), 0)
            or input_copy > coalesce((select sum(dur) from time_ledger as t
                where t.step = d.step and t.device = d.device and category = 'copy_h2d'), 0)
    """,
    "what is hidden is waited for": "select step from data_stall where hidden not between 0 and data_wait",
    "what is not known is null": "select step from data_stall where fetches = 0 and longest_fetch is not null",
}


@every_trace
def test_identities(databases, path):
    database = databases(path)
    broken = {rule: database.execute(query).fetchall() for rule, query in BROKEN.items()}
    assert broken == {rule: [] for rule in BROKEN}


def open_database(name):
    paths = [path for path in TORCH if path.name.startswith(f"{name}.")]
    return paths[0] if paths else TRACES / name


def query_database(databases, name, query):
    if not open_database(name).exists():
        pytest.skip("the folder shared/traces is not beside the checkout")
    return databases(open_database(name)).execute(query).fetchall()


TOTALS = """
    select any_value(loader_kind), sum(fetches), sum(data_wait) / 1e6, sum(idle_data) / 1e6, sum(input_copy) / 1e6,
        sum(transform) / 1e6, any_value(workers)
    from data_stall
"""


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("kineto_resnet50_w0.array", ("in_process", 6, 313.370, 281.681, 13.858, 161.81, 0)),
        ("kineto_resnet50_w4.array", ("multi_process", 6, 9.741, 5.632, 21.664, 1.258, None)),
        ("kineto_resnet50_w0.v19", ("in_process", 6, 415.791, 352.401, 11.492, 142.896, 0)),
        ("kineto_resnet50_w4.v19", ("multi_process", 6, 8.522, 7.101, 18.959, 1.046, None)),
        # h2d that is exposed 16 ms, of it 0.016 outside the input path
        ("hta_trace_diff_control", ("multi_process", 6, 6.036, 1.638, 15.992, 2.491, None)),
        ("hta_sampled_rank0", (None, 2, 7.725, 3.807, 0, 0.248, None)),
        ("hta_cpu_only_rank34", (None, 5, 1.777761, None, None, 0.207718, None)),
        ("megatron_tp8_rank2", ("multi_process", 1, 6.878, 6.878, 0.006, 0, None)),
    ],
)
def test_what_fetching_costs(databases, name, expected):
    ((kind, fetches, *times, workers),) = query_database(databases, name, TOTALS)
    assert (kind, fetches, workers) == (expected[0], expected[1], expected[-1])
    assert [None if each is None else round(each, 6) for each in times] == list(expected[2:-1])


@pytest.mark.slow
def test_frames_tell_what_was_done_in_a_fetch_and_which_is_the_first(databases):
    query = "select is_first, iterator_dur, dur, transform, python, unexplained from data_fetch order by ts limit 2"
    assert query_database(databases, "tracelens_h100_owlv2", query) == [
        (True, 150262, 127773623, 662909, 127098574, 12140),
        (False, None, 121822516, 607719, 121189736, 25061),
    ]


def test_a_trace_in_which_nothing_names_fetching_tells_nothing_of_it(databases):
    query = "select distinct fetches, data_wait, data_stall, loader from data_stall"
    assert query_database(databases, "sidnb13_h100_transformer", query) == [(0, None, None, None)]
    assert query_database(databases, "tracelens_mi210_gpu_only", query) == [(0, None, None, None)]
