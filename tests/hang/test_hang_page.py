"""What `traceq hang` prints: the sentence of each kind, a screen at most, all formats, and wrong use."""

from __future__ import annotations

import json

import pytest
from hanging_job import Grid, Op, make_dump, run_job

import traceq
from traceq.app.hang import HangView, explain_hang

PROGRAM = [Op(("tp", "dp", "default_pg")[number % 3], "all_reduce", 8 + number) for number in range(9)]

SENTENCES = {
    "skip": (
        "Rank 0 waits in all_reduce #7 of group dp (ranks 0 and 2); rank 2 never called it: it is in all_reduce #8 of the"
        " world, at train.py"
    ),
    "sizes": "In all_reduce #6 of group dp (ranks 1 and 3) rank 1 has size 80, rank 3 has size 96, at train.py",
    "order": "In #8 of the world rank 3 calls broadcast, ranks 0-2 call all_reduce, at train.py",
    "inversion": (
        "Rank 0 waits in all_reduce #6 of group dp (ranks 0 and 2); rank 2 never called it: it is in all_reduce #8 of the"
        " world, at train.py"
    ),
    "died": (
        "Rank 0 waits in all_reduce #10 of group tp (ranks 0-1); there is no dump of rank 1: lost, or it wrote none"
    ),
    "slow": (
        "Rank 1 waits in all_reduce #10 of group tp (ranks 0-1); rank 0 has not come yet: slow, not lost. Its last call is"
        " finished: barrier #7 of the world, at train.py"
    ),
    "types": "In all_reduce #6 of group dp (ranks 1 and 3) rank 3 has Double, rank 1 has Float, at train.py",
    "healthy": "Nothing hangs: all 4 ranks called the same, and none of them waits",
}


@pytest.mark.parametrize("kind", SENTENCES)
def test_sentences(hangs, kind):
    assert explain_hang(hangs / kind).verdict.split("train.py")[0] == SENTENCES[kind].split("train.py")[0]


def test_a_rank_that_waits_alone(hangs):
    """Name no other rank from one dump of gloo, which does not list the members of a group."""
    view = explain_hang(hangs / "skip" / "fr_trace_0")
    assert view.verdict == (
        "Rank 0 waits in all_reduce #7 of group dp (rank 0 and others); no dump tells which rank is missing there"
    )
    assert view.content.confidence == "low"


@pytest.mark.parametrize("kind", SENTENCES)
def test_the_page_in_all_formats(hangs, run_traceq, kind):
    text = run_traceq("hang", hangs / kind)
    assert text.exit_code == 0
    assert max(map(len, text.stdout.splitlines())) <= 100
    assert text.stdout.count("\n") <= 48
    assert "traceq hang" in run_traceq("hang", hangs / kind, "--format", "md").stdout
    assert "<html" in run_traceq("hang", hangs / kind, "--format", "html").stdout
    content = json.loads(run_traceq("hang", hangs / kind, "--format", "json").stdout)
    assert content["schema_version"] == 1
    assert content["sentence"].startswith(SENTENCES[kind])


def make_large_view(tmp_path, fault: int) -> HangView:
    """Return the view of 512 ranks in groups of 8, one of which left a call out."""
    grid = Grid(8, 64)
    programs = [[op for number, op in enumerate(PROGRAM) if rank != fault or number != 6] for rank in range(grid.world)]
    for rank, made in enumerate(run_job(grid, programs)):
        (tmp_path / f"fr_trace_{rank}.json").write_text(json.dumps(make_dump(grid, rank, made)))
    return explain_hang(tmp_path)


def test_512_ranks_fit_a_screen(tmp_path):
    view = make_large_view(tmp_path, 211)
    assert view.content.culprits == (211,)
    text = view.to_text()
    assert text.count("\n") <= 48
    assert max(map(len, text.splitlines())) <= 100
    assert "ranks 208-215" in " ".join(text.split())
    assert "512 of ranks 0-511" in text


def test_more_ranks_than_there_are_dumps(hangs):
    """Count the ranks without a dump as missing, and lower the confidence, where the size of the world is given."""
    view = explain_hang(hangs / "order", world_size=8)
    assert (view.content.culprits, view.content.confidence) == ((3,), "medium")
    assert "No dump of ranks 4-7" in view.to_text()


def test_every_name_of_a_dump_is_text_only(hangs, tmp_path):
    """Names of groups, operations, functions and files come from outside."""
    content = json.loads((hangs / "skip" / "fr_trace_0.json").read_text())
    for entry in content["entries"]:
        entry["process_group"][1] = "tp\x1b[31m<script>|`"
        entry["profiling_name"] = "gloo:all_\x1b]0;reduce\x07"
    (tmp_path / "fr_trace_0.json").write_text(json.dumps(content))
    view = explain_hang(tmp_path)
    for text in (view.to_text(), view.to_markdown(), view.to_html(), view.to_json()):
        assert not {"\x1b", "\x07"} & set(text)
    assert "<script>|`" not in view.to_html()


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        ((), 2, "Missing argument 'DUMP...'"),
        (("missing",), 1, "missing: no such file"),
        (("{folder}", "--world-size", "0"), 2, "--world-size 0: a job has 1 to 1,048,576 ranks"),
        (("{folder}", "--format", "pdf"), 2, "is not one of"),
    ],
)
def test_wrong_use(hangs, run_traceq, words, status, said):
    outcome = run_traceq("hang", *(word.format(folder=hangs / "skip") for word in words))
    assert (outcome.exit_code, outcome.stdout) == (status, "")
    assert said in " ".join(outcome.stderr.split())


@pytest.mark.parametrize("name", ["fr_trace_0", "fr_trace_0.json", ""])
def test_report_points_to_hang(hangs, run_traceq, name):
    outcome = run_traceq("report", hangs / "skip" / name)
    assert outcome.exit_code == 1
    assert f"see where the job hangs: traceq hang {hangs / 'skip' / name}" in outcome.stderr


def test_the_function_of_python(hangs):
    assert traceq.explain_hang([hangs / "skip"]).content == explain_hang(hangs / "skip").content
