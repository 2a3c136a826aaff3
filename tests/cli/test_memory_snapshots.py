"""Memory snapshots on the command line: a report, the comparison of two, and what is refused."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[1] / "importers"))

from snapshots import make_history, make_segment, make_snapshot, write_file

from traceq import WrongUse, compare_memory, ingest
from traceq import open as open_traces
from traceq.app.report import report
from traceq.errors import UnusableTrace
from traceq.importers import memory_snapshot

MIB = 1 << 20


def training(folder, activations, name="snapshot.pickle"):
    """A model of 8 MiB, what a forward keeps, and states of the optimizer."""
    text = f"""
        1000 segment_alloc 0 {64 * MIB} main
        1001 alloc 0 {8 * MIB} init
        1010 alloc {8 * MIB} {activations * MIB} forward
        1020 free {8 * MIB} {activations * MIB} backward
        1020 freed {8 * MIB} {activations * MIB} backward
        1030 alloc {8 * MIB} {4 * MIB} optimizer
    """
    blocks = f"{8 * MIB} {8 * MIB} used init\n{4 * MIB} {4 * MIB} used optimizer\n{52 * MIB} 0 free -"
    path = write_file(folder, make_snapshot(make_history(text), segments=[make_segment(0, blocks)]))
    return path.rename(path.with_name(name))


@pytest.fixture(autouse=True)
def width(monkeypatch):
    """Lines as wide as the recorded ones, wherever the tests run."""
    monkeypatch.setenv("COLUMNS", "100")


@pytest.fixture
def cli(traceq):
    """What the command prints, on stderr where it fails, as it has to with a `status`."""

    def run(*arguments, status=0):
        outcome = traceq(*arguments)
        assert outcome.exit_code == status, outcome.output
        return outcome.stderr if status else outcome.stdout

    return run


@pytest.fixture
def pair(tmp_path):
    return training(tmp_path, 32, "a.pickle"), training(tmp_path, 16, "b.pickle")


def test_a_report_begins_with_the_peak(tmp_path, cli):
    text = cli("report", training(tmp_path, 32))
    peak, parts, advice = text.splitlines()[2:5]
    assert peak == "Peak: 40.0 MiB in use on GPU 0 after 10.00 µs; model.py:7 forward holds 32.0 MiB (80.0 %)"
    assert parts == "  activations 32.0 MiB (80.0 %), parameters 8.0 MiB (20.0 %)"
    assert advice.startswith("  Activations dominate the memory peak: ")
    assert "\n  64.0 MiB reserved at most\n" in text
    assert len(text.splitlines()) <= 60


def find_chart(page, name):
    """The <svg> of the page with this id."""
    return re.search(rf'<svg id="{name}".*?</svg>', page, re.DOTALL)[0]


def test_the_page_of_a_snapshot_draws_its_memory_by_category_and_the_holders_of_the_peak(tmp_path, cli):
    cli("report", training(tmp_path, 32), "-o", tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text("utf-8")
    history, holders = find_chart(page, "t1-memory-history"), find_chart(page, "t1-memory-holders")
    # what lies on top is drawn first
    layers = re.findall(r'<path d="[^"]*Z" fill="var\(--c-([a-z]+)\)"', history)
    assert layers == ["activations", "optimizer", "parameters"]
    assert "peak 40.0 MiB after 10.00 µs" in history
    assert {"activations 80.0 %", "parameters 20.0 %", "optimizer"} <= set(re.findall(r"</svg>([^<>]+)</li>", page))
    bars = re.findall(r'<rect [^>]*height="18.7" fill="var\(--c-([a-z]+)\)"', holders)
    assert bars == ["activations", "parameters"]
    assert {"model.py:7 forward", "32.0 MiB, 80.0 %"} <= set(re.findall(r">([^<>]+)</text>", holders))
    assert page.index('id="t1-memory-history"') < page.index("What holds the memory")
    assert "120 * greatest(c.number, 0)" in page


def test_the_page_of_several_ranks_draws_them_on_one_scale(tmp_path, cli):
    files = [training(tmp_path, 16 * (1 + rank), f"rank{rank}_snapshot.pickle") for rank in range(3)]
    cli("report", *files, "-o", tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text("utf-8")
    told = re.findall(r">(rank \d: [^<>]+)</text>", find_chart(page, "snapshots"))
    assert told == [f"rank {rank}: peak {8 + 16 * (1 + rank)}.0 MiB after 10.00 µs" for rank in range(3)]
    assert "t1-memory-history" not in page


def test_the_page_of_two_compared_snapshots_draws_both(pair, tmp_path, cli):
    cli("compare", *pair, "-o", tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text("utf-8")
    chart = find_chart(page, "memory-histories")
    assert "base: peak 40.0 MiB after 10.00 µs" in chart
    assert "new: peak 24.0 MiB after 10.00 µs" in chart
    assert "left out" not in page


def failing(folder, name, rank=0, at=2000, others=0, device=None, is_timed=True):
    """1,000 MiB reserved with 300 idle, and a request for 400 that fails while 200 are free; `others` MiB more are held."""
    held = 500 + others
    text = f"""
        1000 segment_alloc 0 {500 * MIB} main
        1001 alloc 0 {200 * MIB} forward
        1002 segment_alloc {500 * MIB} {held * MIB} main
        1003 alloc {500 * MIB} {held * MIB} init
        {at} oom {200 * MIB} {400 * MIB} torch/nn/functional.py:3 linear,train.py:12 loss
    """
    device = rank if device is None else device
    events = make_history(text)
    if not is_timed:
        for event in events:
            del event["time_us"]
    segments = [
        make_segment(0, f"{200 * MIB} {200 * MIB} used forward\n{300 * MIB} 0 free -", device=device),
        make_segment(500 * MIB, f"{held * MIB} {held * MIB} used init", device=device),
    ]
    traces = [events if each == device else [] for each in range(device + 1)]
    return write_file(folder, make_snapshot(*traces, segments=segments)).rename(folder / name)


def test_a_report_begins_with_memory_that_ran_out(tmp_path, cli):
    lines = cli("report", failing(tmp_path, "oom.pickle")).splitlines()
    assert lines[0].endswith("history of 1.000 ms")
    assert lines[2:7] == [
        "Out of memory on GPU 0: train.py:12 loss requested 400 MiB, 200 MiB were free",
        "  Short by 200 MiB; 300 MiB unused in segments; the largest free block had 300 MiB",
        "  Set PYTORCH_ALLOC_CONF=expandable_segments:True before Python starts (before 2.9",
        "  PYTORCH_CUDA_ALLOC_CONF)",
        "  Most is held by model.py:3 __init__: 500 MiB of 700 MiB",
    ]
    text = " ".join(" ".join(lines).split())
    assert "held when memory ran out by" in text
    assert "that is enough, but in pieces that are too small: memory is fragmented" in text
    assert text.count("Out of memory on GPU 0") == 2


def test_ranks_of_a_job_are_one_job(tmp_path, cli):
    """Which ran out of memory, which first, and who differs."""
    at = (2500, 2010, 2900)
    paths = [failing(tmp_path, f"rank{each}_snapshot.pickle", each, at[each], 300 * (each == 2)) for each in range(3)]
    content = make_snapshot([], [], [], make_history(f"1000 segment_alloc 0 {4 * MIB} main"), segments=[])
    paths.append(write_file(tmp_path, content).rename(tmp_path / "rank3_snapshot.pickle"))
    text = cli("report", *paths)
    assert text.splitlines()[:3] == [
        "Out of memory in 3 of 4 ranks (ranks 0-2)",
        "  Rank 1 was first, 490.0 µs before rank 0",
        "  Rank 1: train.py:12 loss asked for 400 MiB, 200 MiB were free",
    ]
    assert [line.split()[:7] for line in text.splitlines() if line.startswith(("t2", "t3"))] == [
        ["t2", "1", "1", "700.0", "MiB", "1,000.0", "MiB"],
        ["t3", "2", "2", "1,000.0", "MiB", "1,300.0", "MiB"],
    ]
    told = " ".join(text.split())
    assert "rank 1 had 1,200 MiB (reserved and free) and rank 2 1,500 MiB" in told
    assert "rank1_snapshot.pickle · PyTorch memory snapshot · rank 1" in told
    assert "Cannot tell which rank is late" not in told
    assert cli("report", tmp_path).splitlines()[:2] == text.splitlines()[:2]


@pytest.mark.slow
def test_on_several_machines_clocks_do_not_tell_who_was_first(tmp_path, cli):
    """All ranks have GPU 0, as those of several machines do."""
    paths = [failing(tmp_path, f"oom_r{rank}.pickle", rank, 2000 + rank, device=0) for rank in range(2)]
    told = " ".join(cli("report", *paths).split())
    assert "It is not known which was first: rank 0 and rank 1 are within 1.000 µs" in told
    assert "All ranks peak within 0 B of 700.0 MiB" in told


def test_a_history_is_as_long_as_the_events_of_the_allocator(tmp_path, cli):
    """Not as the annotations, of which there can be one."""
    marks = [{"stage": stage, "name": "step", "device": 0, "time_us": at} for stage, at in (("START", 20), ("END", 30))]
    events = make_history(f"10 alloc 1 {MIB} main\n60 alloc 2 {MIB} main")
    blocks = [make_segment(at, f"{MIB} {MIB} used main") for at in (1, 2)]
    text = cli("report", write_file(tmp_path, make_snapshot(events, segments=blocks, annotations=marks)))
    assert text.splitlines()[0].endswith("history of 50.00 µs")
    assert "Peak: 2.0 MiB in use on GPU 0 after 50.00 µs" in text


def test_without_times_the_order_tells_the_peak(tmp_path, cli):
    text = cli("report", failing(tmp_path, "old.pickle", is_timed=False), "--full")
    assert text.splitlines()[4].endswith("history of 5 events")
    told = " ".join(text.split())
    assert "Peak: 700.0 MiB in use on GPU 0 after event 4 of 5" in told
    assert "in use on GPU 0 over the history, 0 to 700.0 MiB" in told
    assert "Out of memory on GPU 0" in told


def test_a_snapshot_without_times_has_no_place_beside_a_trace(tmp_path):
    path = failing(tmp_path, "old.pickle", is_timed=False)
    with pytest.raises(UnusableTrace, match="have no times"):
        list(memory_snapshot.beside(path, 0))


def test_what_is_said_of_one_source_is_refused_of_several(pair, cli):
    assert "A ticket is about one SOURCE_OR_DB" in cli("report", *pair, "--ticket", status=2)
    assert "--save is for a trace database" in cli("report", *pair, "--save", status=2)


def test_every_section(tmp_path, cli):
    text = cli("report", training(tmp_path, 32), "--full")
    assert "GPU  pool  segments  reserved    in use  rounding  free segments  free in used ones" in text
    for words in ("How to read", "Where the time went", "What the host did"):
        assert words not in text


@pytest.mark.sample(4)
@pytest.mark.parametrize("format_", ["md", "html", "json", "llm"])
def test_every_format(tmp_path, cli, format_):
    assert "model.py:7 forward" in cli("report", training(tmp_path, 32), "--format", format_)


def test_a_ticket_names_no_line_of_the_program(tmp_path, cli):
    text = cli("report", training(tmp_path, 32), "--ticket")
    assert "Peak: 40.0 MiB" in text
    assert "model.py" not in text


def test_two_snapshots_are_compared_by_their_peaks(pair, cli):
    lines = cli("compare", *pair).splitlines()
    assert lines[2] == ("Peak: 40.0 MiB -> 24.0 MiB (-16.0 MiB, -40.0 %); model.py:7 forward changed most, -16.0 MiB")
    assert "activations  32.0 MiB  16.0 MiB   -16.0 MiB" in lines


def test_the_comparison_for_programs(pair, cli):
    told = json.loads(cli("compare", *pair, "--format", "json"))
    assert told["delta_bytes"] == -16 * MIB
    assert [(each["name"], each["base_bytes"], each["new_bytes"]) for each in told["categories"]] == [
        ("activations", 32 * MIB, 16 * MIB),
        ("parameters", 8 * MIB, 8 * MIB),
    ]


@pytest.mark.slow
def test_databases_of_snapshots_are_compared(pair, tmp_path):
    databases = [tmp_path / f"{each.stem}.duckdb" for each in pair]
    for path, database in zip(pair, databases, strict=True):
        ingest(path, database)
    assert compare_memory(*databases).content == compare_memory(*pair).content
    assert compare_memory(pair[0], databases[0]).verdict == "Peak: 40.0 MiB -> 40.0 MiB, the same to the byte"
    with pytest.raises(WrongUse, match="only with another memory snapshot"):
        compare_memory(pair[0], tmp_path / "absent")


def test_a_ticket_of_two_snapshots_is_refused(pair, cli):
    assert "--ticket: only for times" in cli("compare", *pair, "--ticket", status=2)


class Evil:
    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return (Path.touch, (self.path,))


def test_a_malicious_pickle_fails_in_one_line(tmp_path, cli):
    called = tmp_path / "called"
    content = make_snapshot(make_history("1 alloc 8 1 main"))
    content["allocator_settings"]["evil"] = Evil(called)
    text = cli("ingest", write_file(tmp_path, content), "-o", tmp_path / "x.duckdb", status=1)
    assert len(text.strip().splitlines()) == 1
    assert "cannot be read as a memory snapshot of PyTorch" in text
    assert not called.exists()
    assert not (tmp_path / "x.duckdb").exists()


def test_another_pickle_is_not_opened(tmp_path, cli):
    path = write_file(tmp_path, {"state_dict": Evil(tmp_path / "called")})
    assert "a pickle, but not a memory snapshot" in cli("report", path, status=1)
    assert not (tmp_path / "called").exists()


def test_marks_of_the_program_are_steps(tmp_path, cli):
    """Annotations that were recorded beside the history."""
    marks = [
        {
            "stage": stage,
            "name": f"ProfilerStep#{step}",
            "device": 0,
            "time_us": 1000 + 100 * step + 99 * (stage == "END"),
        }
        for step in range(5)
        for stage in ("START", "END")
    ]
    text = "\n".join(f"{1000 + 100 * step + 50} alloc {step} {2 * MIB} main" for step in range(5))
    blocks = [make_segment(step, f"{2 * MIB} {2 * MIB} used main") for step in range(5)]
    path = write_file(tmp_path, make_snapshot(make_history(text), segments=blocks, annotations=marks))
    told = cli("report", path)
    assert "A line allocates memory in every step that is never released" in told
    assert "train.py:9 main allocates 2 MiB a step that are never released" in " ".join(told.split())


@pytest.mark.sample(6)
@pytest.mark.parametrize(
    "content",
    [
        make_snapshot(make_history("5 alloc 1 0 main")),
        make_snapshot([], make_history("1000000 free 7 5 -"), segments=[make_segment(1, "8 0 free -", device=2)]),
        [make_segment(1, "8 4 waiting -")],
    ],
    ids=["no bytes", "other devices", "segments only"],
)
def test_odd_snapshots_are_told_as_they_are(tmp_path, cli, content):
    path = write_file(tmp_path, content)
    text = cli("report", path, "--full")
    assert "Failed" not in text
    assert "Peak:" in text or "neither memory in use nor a history" in text
    assert "numbers that do not add up" not in cli("doctor", path)
    if "Peak:" in text:
        assert "the same to the byte" in cli("compare", path, path)


def test_a_snapshot_whose_numbers_cannot_be_true_holds_nothing_to_report_on(tmp_path, cli):
    path = write_file(
        tmp_path, make_snapshot(make_history(f"1 alloc 1 {1 << 60} main\n{10**15} freed 1 {1 << 60} main"))
    )
    assert "snapshot.pickle: nothing recorded" in cli("report", path, status=1)
    assert "number_out_of_range (1)" in cli("doctor", path)


def test_an_empty_snapshot_holds_nothing_to_report_on(tmp_path, cli):
    assert "snapshot.pickle: nothing recorded" in cli("report", write_file(tmp_path, make_snapshot([], [])), status=1)


@pytest.mark.slow
def test_several_snapshots_are_listed_by_their_peaks(pair, tmp_path, cli):
    text = cli("report", tmp_path)
    assert [line.split()[:6] for line in text.splitlines() if line[:2] in ("t1", "t2")] == [
        ["t1", "a.pickle", "0", "40.0", "MiB", "64.0"],
        ["t2", "b.pickle", "0", "24.0", "MiB", "64.0"],
    ]
    assert "of a step" not in text
    command = next(line for line in text.splitlines() if "against another snapshot" in line).split("traceq ")[1]
    # of long paths a report makes a variable
    command = command.replace('"$TRACE"', str(tmp_path))
    assert command == f"compare {pair[0]} {pair[1]}"
    assert "-16.0 MiB" in cli(*command.split())


@pytest.mark.slow
def test_of_several_in_a_database_each_keeps_when_blocks_could_be_used_again(pair, tmp_path):
    ends = "select count(ts_end), sum(ts_end)::bigint from allocation"
    for name, sources in (("one", pair[:1]), ("other", pair[1:]), ("both", pair)):
        ingest(sources, tmp_path / f"{name}.duckdb")
    found = []
    for name in ("one", "other", "both"):
        with open_traces(tmp_path / f"{name}.duckdb") as traces:
            found += traces.sql(ends).fetchall()
    assert found[0][0] > 0
    assert found[2] == tuple(map(sum, zip(found[0], found[1], strict=True)))


@pytest.mark.slow
def test_of_several_in_a_database_none_is_compared(pair, tmp_path, cli):
    ingest(pair, tmp_path / "both.duckdb")
    assert "traceq compare" not in cli("report", tmp_path / "both.duckdb")


@pytest.mark.slow
def test_the_verdict_names_the_largest_change_up_or_down(tmp_path, cli):
    def made(name, first, second):
        text = f"""
            1000 segment_alloc 0 {64 * MIB} main
            1001 alloc 0 {first * MIB} forward
            1010 alloc {32 * MIB} {second * MIB} optimizer
        """
        path = write_file(
            tmp_path, make_snapshot(make_history(text), segments=[make_segment(0, f"{64 * MIB} 0 free -")])
        )
        return path.rename(tmp_path / name)

    text = cli("compare", made("a.pickle", 30, 4), made("b.pickle", 10, 20))
    assert "Peak: 34.0 MiB -> 30.0 MiB (-4.0 MiB, -11.8 %); model.py:7 forward changed most, -20.0 MiB" in text
    text = cli("compare", made("a.pickle", 10, 4), made("b.pickle", 4, 30))
    assert "main changed most, +26.0 MiB" in " ".join(text.split())


def test_a_ticket_of_a_snapshot_speaks_of_no_steps(tmp_path, cli):
    text = cli("report", training(tmp_path, 32), "--ticket")
    assert "- **GPUs**: 0" in text
    for words in ("found by", "window", "annotated"):
        assert words not in text


def test_a_ticket_against_a_snapshot_names_the_command_that_compares(pair, cli):
    assert f"traceq compare {pair[0]} {pair[1]}" in cli("report", pair[1], "--ticket", "--against", pair[0], status=2)


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", ["activation-peak", "Activation-Peak"])
def test_a_remark_is_shown_by_its_rule(tmp_path, cli, name):
    text = cli("report", training(tmp_path, 32), "--finding", name)
    assert "Activations dominate the memory peak" in text
    assert "id   activation-peak" in text
    assert "from memory_" not in text
    assert "from memory_" in cli("report", training(tmp_path, 32), "--finding", name, "--sql")


def test_what_traceq_reads_names_snapshots(tmp_path, cli):
    path = tmp_path / "odd.bin"
    path.write_bytes(b"nothing known")
    assert "_dump_snapshot()" in cli("report", path, status=1)


def test_a_report_of_scope_screen_has_all_that_it_shows(tmp_path):
    source = training(tmp_path, 32)
    whole, part = (report(source, scope=scope) for scope in ("document", "screen"))
    assert part.to_text() == whole.to_text()
    assert part.verdict == whole.verdict
