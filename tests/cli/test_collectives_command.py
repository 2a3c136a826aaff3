"""traceq collectives: what is found in records of a job, what cannot be told, and wrong use."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from traceq.cli import main

ROOT = Path(__file__).resolve().parents[2]
RECORDS = ROOT / "fixtures" / "inspector"
sys.path.append(str(ROOT / "fixtures" / "make"))

from inspector import Fault, Layout, make_job, write_job, write_samples  # noqa: E402

# First screens are at most this long.
MOST_LINES = 48


def collectives(*arguments):
    return CliRunner().invoke(main, ["collectives", *map(str, arguments)], env={"COLUMNS": "100"})


def sentences(result):
    """The text without its line breaks."""
    assert result.exit_code == 0, result.output
    return " ".join(result.output.split())


@pytest.fixture(scope="module")
def slow_job(tmp_path_factory):
    """64 ranks, of which rank 13 has a slow card, and ranks 5 and 40 come late."""
    folder = tmp_path_factory.mktemp("slow")
    write_job(make_job(7, 40, Layout(8, 4, 2), Fault("card", (13,)), late=(5, 40)), folder)
    return folder


def test_a_slow_link_is_named_first(slow_job):
    result = collectives(slow_job)
    text = sentences(result)
    assert "Slow link: rank 13 on node-1, at " in text
    assert "3 of its 3 links between hosts are slow" in text
    assert (
        "Compared: 16 groups between hosts, 1 slow; 8 groups within the host; 64 pairs between hosts, 2 slow." in text
    )
    assert len(result.output.splitlines()) <= MOST_LINES
    assert max(map(len, result.output.splitlines())) <= 100


def test_every_format_has_the_same(slow_job, tmp_path):
    content = json.loads(collectives(slow_job, "--format", "json").output)
    assert content["schema_version"] == 1
    (link,) = content["slow_links"]
    assert (link["kind"], link["name"], link["slow"], link["links"]) == ("rank", "rank 13", 3, 3)
    assert link["ratio"] == pytest.approx(2, rel=0.05)
    assert content["summary"]["processes"] == 64
    assert sum(cost["records"] for cost in content["costs"]) == content["summary"]["records"]
    assert sum(cost["share"] for cost in content["costs"]) == pytest.approx(1)
    assert "rank 5" in {late["name"] for late in content["late_ranks"]}
    for suffix in ("md", "html", "txt"):
        page = tmp_path / f"page.{suffix}"
        assert collectives(slow_job, "-o", page).exit_code == 0
        assert "rank 13" in page.read_text()


def test_sums_are_those_of_the_files(slow_job):
    """Read by Python's json, and added up by loops."""
    found = {}
    for path in slow_job.iterdir():
        for line in path.read_text().splitlines():
            record = json.loads(line)
            kind = record.get("coll_perf") or record["p2p_perf"]
            prefix = "coll" if "coll_perf" in record else "p2p"
            key = kind[prefix], kind[f"{prefix}_msg_size_bytes"]
            count, time = found.get(key, (0, 0))
            found[key] = count + 1, time + kind[f"{prefix}_exec_time_us"] * 1000
    words = {
        "AllReduce": "all_reduce",
        "AllGather": "all_gather",
        "ReduceScatter": "reduce_scatter",
        "Send": "send",
        "Recv": "recv",
    }
    content = json.loads(collectives(slow_job, "--format", "json").output)
    assert {(cost["op"], cost["message_bytes"]): (cost["records"], cost["dur_ns"]) for cost in content["costs"]} == {
        (words[op], message): sums for (op, message), sums in found.items()
    }


def test_a_healthy_job_with_late_ranks(tmp_path):
    write_job(make_job(8, 24, Layout(4, 2, 2), late=(3,)), tmp_path)
    text = sentences(collectives(tmp_path))
    assert "Others wait for rank 3:" in text
    assert "Slow links: none among" in text


def test_a_healthy_job(tmp_path):
    write_job(make_job(8, 24, Layout(4, 2, 2)), tmp_path)
    assert "and no rank holds the others up." in sentences(collectives(tmp_path))


@pytest.mark.parametrize(
    ("fault", "kind", "names"),
    [
        (Fault("pair", (3, 35)), "pair", {"rank 3", "rank 35"}),
        (Fault("host", (8,)), "host", {"node-1"}),
        (Fault("fabric", (8,)), "group", {"node-1"}),
        (Fault("card", (20,), since=0.5), "rank", {"rank 20"}),
    ],
)
def test_what_is_slow_has_its_name(tmp_path, fault, kind, names):
    write_job(make_job(9, 80, Layout(8, 4, 2), fault, late=(1,)), tmp_path)
    (link,) = json.loads(collectives(tmp_path, "--format", "json").output)["slow_links"]
    assert (link["kind"], names <= {link["name"], link["peer_name"], link["host"]}) == (kind, True)
    assert (link["share_since"] is not None) == (fault.since > 0)


def test_one_process_alone_cannot_tell(slow_job):
    text = sentences(collectives(next(iter(slow_job.glob("*pid4013.log")))))
    assert "Slow links: cannot tell: the files are of one process" in text
    assert "with waiting for other ranks, as one rank sees it" in text


def test_files_twice_and_damaged(tmp_path):
    for path in RECORDS.glob("*.log.gz"):
        shutil.copy(path, tmp_path)
    shutil.copy(tmp_path / "node-0-pid4000.log.gz", tmp_path / "copy.log.gz")
    (tmp_path / "cut.log").write_text('{"header": {"id": "0x1", "rank": 0}, "coll_perf": {"coll": "AllReduce", "coll_sn": 1,'
        ' "coll_msg_size_bytes": 9, "coll_exec_time_us": 1}}\n{"header": {"id')  # fmt: skip
    text = sentences(collectives(tmp_path))
    assert "1 record cut or damaged, and left out." in text
    assert "node-0-pid4000.log.gz is identical to copy.log.gz, and counts once" in text


def test_means_told_to_prometheus(tmp_path):
    write_samples(make_job(3, 12, Layout(2, 2, 2)), tmp_path)
    text = sentences(collectives(tmp_path))
    assert "Slow links: cannot tell: means of several operations hold waiting for other ranks" in text
    assert "Means told to Prometheus" in text
    assert "all_reduce 16.0 MiB to 17.0 MiB 2 1 8 8" in text


def test_names_from_files_cannot_steer_a_terminal(tmp_path):
    for path in RECORDS.glob("*.log.gz"):
        shutil.copy(path, tmp_path)
    hostile = "\\u001b[31mred\\u0007<script>"
    line = (
        f'{{"header": {{"id": "{hostile}", "comm_name": "{hostile}", "rank": 0, "n_ranks": 2, "nnodes": 1}}, "metadata":'
        f' {{"hostname": "{hostile}", "pid": 4}}, "coll_perf": {{"coll": "{hostile}", "coll_sn": 1, "coll_msg_size_bytes": 9,'
        f' "coll_exec_time_us": 1, "coll_timing_source": "{hostile}"}}}}\n'
    )
    (tmp_path / "hostile.log").write_text(line)
    for format_ in ("text", "md", "html", "json"):
        result = collectives(tmp_path, "--format", format_)
        assert result.exit_code == 0
        assert "\x1b[31m" not in result.output
        assert format_ != "html" or "<script>red" not in result.output


@pytest.mark.parametrize(
    ("arguments", "status", "words"),
    [
        ([], 2, "Missing argument 'FILE...'"),
        (["nowhere"], 1, "nowhere: no such file"),
        ([ROOT / "docs"], 1, "no file here holds records of collectives"),
        ([ROOT / "fixtures" / "run" / "kineto_2026.json.gz"], 1, "no records of collectives"),
        ([RECORDS / "prometheus.prom", "-o", RECORDS / "prometheus.prom"], 2, "no format has this suffix"),
        ([RECORDS, "-o", "nowhere/a.md"], 1, "no such directory"),
    ],
)
def test_wrong_use(arguments, status, words):
    result = collectives(*arguments)
    assert (result.exit_code, words in result.output) == (status, True), result.output


def test_the_input_is_not_overwritten(tmp_path):
    path = shutil.copy(RECORDS / "prometheus.prom", tmp_path / "a.txt")
    assert "is the input" in collectives(path, "-o", path).output
