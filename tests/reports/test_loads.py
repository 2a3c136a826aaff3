"""What reports say and draw of loads: ranks in all-to-alls, experts one by one and together, and pairs of GPUs."""

from __future__ import annotations

from msgspec.structs import replace
from test_jobs import JOB
from test_renderers import CASES, report

from traceq.reports.charts import loads as charts
from traceq.reports.charts.svg import draw_svg
from traceq.reports.model import ExchangedBytes, LayerLoad, RankLoad
from traceq.reports.renderers.to_text import blocks_to_text
from traceq.reports.sections.copies import describe_copies
from traceq.reports.sections.experts import describe_experts, list_loads_of_job
from traceq.reports.topics.copies import CopyTotal, PeerCopy
from traceq.reports.topics.kernels import ExpertWork, GroupedProduct

MIB = 1 << 20


def lines_of(blocks):
    return blocks_to_text(blocks, 100).strip().splitlines()


def test_loads_of_ranks():
    loads = (RankLoad("ep", 3, 80, 40_960, 80 * MIB, 1.6, 2.5), RankLoad("ep", 0, 80, 10_240, 20 * MIB, 0.4, 0.5))
    assert lines_of(list_loads_of_job(replace(JOB, loads=loads))) == [
        "rank  all-to-alls   gets  tokens  of the mean  most at once",
        "----  -----------  -----  ------  -----------  ------------",
        "3               8  8 MiB   4,096        1.60x         2.50x",
        "0               8  2 MiB   1,024        0.40x         0.50x",
        "",
        "What all-to-alls along expert (ep) bring to the ranks, per step, against the mean of their group;",
        "what comes back is not counted.",
    ]


def test_loads_whose_axis_nothing_tells():
    many = tuple(RankLoad(None, rank, 10, None, MIB, 1.0, 1.5) for rank in range(9))
    found = lines_of(list_loads_of_job(replace(JOB, loads=many)))
    assert found[0].split() == ["rank", "all-to-alls", "gets", "of", "the", "mean", "most", "at", "once"]
    assert found[-2].startswith("What all-to-alls whose axis nothing tells bring to the most loaded ranks, per step,")
    assert lines_of(list_loads_of_job(JOB)) == []


def test_loads_are_cells_of_ranks_and_all_to_alls():
    layers = [(0, 1, 0.5), (0, 3, 1.0), (1, 1, 2.0), (1, 3, 1.0)]
    job = replace(JOB, layer_loads=tuple(LayerLoad(*layer) for layer in layers))
    (panel,) = charts.draw_loads(job).panels
    assert [tick.text for tick in panel.x.ticks] == ["1", "3"]
    cells = [(mark.y + mark.height / 2, mark.x + mark.width / 2, mark.opacity) for mark in panel.shapes]
    assert [(round(y), round(x), opacity) for y, x, opacity in cells] == [
        (0, 0, 0.4), (0, 1, 0.6), (1, 0, 1.0), (1, 1, 0.6),
    ]  # fmt: skip
    assert charts.describe_loads(job) == (
        "Load of 2 ranks in each all-to-all of a step: rank 1 gets most, 2.00x the mean of its group in number 1."
    )
    assert charts.has_loads(job)
    assert not charts.has_loads(replace(JOB, layer_loads=(LayerLoad(0, 1, 1.0), LayerLoad(1, 1, 1.0))))
    assert not charts.has_loads(JOB)


def test_who_sends_to_whom():
    pairs = [(0, 1, 10 * MIB), (1, 0, 20 * MIB), (2, 0, 30 * MIB), (2, 2, 0)]
    job = replace(JOB, exchanged=tuple(ExchangedBytes(*pair) for pair in pairs))
    (panel,) = charts.draw_exchanged(job).panels
    assert len(panel.shapes) == 3
    assert charts.describe_exchanged(job) == (
        "Bytes from rank to rank in all-to-alls, without what comes back: rank 2 sends most to rank 0, 3 MiB per step."
    )
    assert not charts.has_exchanged(replace(JOB, exchanged=job.exchanged[:2]))


def test_the_page_of_a_large_job_stays_small():
    layers = tuple(LayerLoad(rank, place, rank * place % 7 / 3) for rank in range(64) for place in range(1, 121))
    assert len(draw_svg(charts.draw_loads(replace(JOB, layer_loads=layers)), "job-loads", "words")) < 900_000


def with_topics(**topics):
    """The report of a trace with these facts in its topics: name of the topic to fields."""
    (trace, *_) = report(next(iter(CASES))).traces
    changed = {name: replace(getattr(trace.topics, name), **facts) for name, facts in topics.items()}
    queries = {**trace.queries, "experts": "E", "grouped_products": "G", "peer_copies": "P"}
    return replace(trace, topics=replace(trace.topics, **changed), queries=queries)


def test_experts_one_by_one_and_together():
    experts = (
        ExpertWork("model.layers.3.mlp", 7, 3, 3_000, 2_000_000, 1.5, 16, 2),
        ExpertWork(None, 1, 3, None, 1_000_000, None, 16, 2),
    )
    grouped = (GroupedProduct("aten::_grouped_mm", 96, 12_288, None), GroupedProduct("vllm::moe_forward", 4, None, 5))
    found = lines_of(describe_experts(with_topics(kernels={"experts": experts, "grouped": grouped})))
    assert found[0] == "16 experts of 2 layers run one by one; the most loaded:"
    assert [line.split() for line in found if line.endswith(("1.50x", " -"))] == [
        ["7", "model.layers.3.mlp", "3", "3,000", "2.000", "ms", "1.50x"],
        ["1", "-", "3", "-", "1.000", "ms", "-"],
    ]
    assert " ".join(found[found.index(next(line for line in found if "together" in line)) :]).startswith(
        "Experts that are computed together: aten::_grouped_mm (96 calls, 12,288 rows), vllm::moe_forward (4 calls)."
        " Cannot tell how many tokens each of them gets: shapes have the sum."
    )
    assert lines_of(describe_experts(with_topics())) == []


def test_a_slow_pair_is_named():
    total = CopyTotal(0, "copy_other", 6, 24 * MIB, 1_000_000, 1_000_000, 0, 0, 1_000_000, 0)
    fast = PeerCopy(0, 1, "below 16 MiB", 3, 12 * MIB, 300_000, 42.0, 43.0, "NVLink 4", 450.0, 20.0, is_slow=False)
    slow = PeerCopy(1, 0, "below 16 MiB", 3, 12 * MIB, 600_000, 20.0, 21.0, None, None, 42.0, is_slow=True)
    text = blocks_to_text(describe_copies(with_topics(copies={"totals": (total,), "peers": (slow, fast)})), 120)
    words = " ".join(text.split())
    assert "GPU 1 GPU 0 below 16 MiB 3 12.0 MiB 600.0 µs 20.0 GB/s 21.0 GB/s cannot tell" in words
    assert "GPU 0 GPU 1 below 16 MiB 3 12.0 MiB 300.0 µs 42.0 GB/s 43.0 GB/s NVLink 4, 450 GB/s" in words
    assert "GPU 1 to GPU 0: 20.0 GB/s for copies of below 16 MiB, where other pairs reach 42.0 GB/s." in words
    assert "nvidia-smi topo -m" in words
