from __future__ import annotations

import gzip
import json
import re
import sqlite3
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace

import database_diff
import planted_secrets
import pytest

from traceq.app.anonymise import anonymise
from traceq.app.api import trim
from traceq.app.ingest import ingest
from traceq.app.trim import check_suffix
from traceq.database.connect import connect
from traceq.errors import UnusableTrace, WrongUse
from traceq.sharing import chrome_names, nsys_names
from traceq.sharing.names import Names, read_allowed

FIXTURES = Path(__file__).parents[2] / "fixtures"
KINETO = FIXTURES / "run" / "kineto_2026.json.gz"
NSYS = FIXTURES / "run" / "nsys_2026.2.sqlite"
_QUICK = ("kineto_2026", "nsys_2026.2")
RUNS = [
    pytest.param(path, id=path.name, marks=[] if path.name.startswith(_QUICK) else pytest.mark.slow)
    for path in sorted((FIXTURES / "run").glob("*.*"))
]


@pytest.fixture
def database(tmp_path):
    """database(path): the database of a trace, judged."""
    opened = []

    def made(path):
        target = tmp_path / f"{len(opened)}.duckdb"
        ingest([path], target)
        opened.append(connect(target))
        return opened[-1]

    yield made
    for each in opened:
        each.close()


@pytest.fixture
def chrome(tmp_path):
    path = tmp_path / "trace.json"
    path.write_text(json.dumps(planted_secrets.make_chrome_trace()))
    return path


@pytest.fixture(params=["nsys_2022.1", pytest.param("nsys_2023.4", marks=pytest.mark.slow), "nsys_2026.2"])
def nsys(tmp_path, request):
    path = tmp_path / "export.sqlite"
    path.write_bytes((FIXTURES / "run" / f"{request.param}.sqlite").read_bytes())
    planted_secrets.plant_in_nsys(path)
    return path


def test_there_are_sixty_different_secrets():
    assert len(set(planted_secrets.SECRETS)) == len(planted_secrets.SECRETS) == 60


def test_all_are_found_where_they_are_planted(chrome, nsys):
    assert planted_secrets.find_secrets(chrome.read_bytes()) == [*planted_secrets.SECRETS]
    assert planted_secrets.find_secrets(nsys.read_bytes()) == [*planted_secrets.SECRETS]


@pytest.mark.parametrize("name", ["shared.json", "shared.json.gz"])
def test_no_secret_stands_in_a_chrome_trace(chrome, tmp_path, name):
    written = anonymise(chrome, tmp_path / name)
    content = (tmp_path / name).read_bytes()
    assert planted_secrets.find_secrets(content) == []
    text = gzip.decompress(content) if name.endswith(".gz") else content
    assert planted_secrets.find_secrets(text) == []
    shown = json.loads(text)
    assert {each["name"] for each in shown["traceEvents"] if each.get("cat") == "kernel"} == {"gemm"}
    assert {"ProfilerStep#1", "aten::mm", "cudaLaunchKernel"} <= {each["name"] for each in shown["traceEvents"]}
    assert written.removed["unknown arguments"] > 0
    assert written.removed["members of the file: host_name"] == 1


def test_no_secret_stands_in_an_export(nsys, tmp_path):
    target = tmp_path / "shared.sqlite"
    written = anonymise(nsys, target)
    assert planted_secrets.find_secrets(target.read_bytes()) == []
    with closing(sqlite3.connect(target)) as shared:
        values = [
            str(value)
            for (table,) in shared.execute("select name from sqlite_master where type = 'table'").fetchall()
            for row in shared.execute(f'select * from "{table}"').fetchall()
            for value in row
            if isinstance(value, str | bytes)
        ]
        assert planted_secrets.find_secrets("\n".join(values).encode()) == []
        assert shared.execute("pragma freelist_count").fetchall() == [(0,)]
        assert shared.execute(
            "select count(*) from sqlite_master where type <> 'table' and sql is not null"
        ).fetchall() == [(0,)]
    assert written.removed["strings that nothing kept refers to"] >= 1
    assert written.removed["rows of TARGET_INFO_SYSTEM_ENV"] > 0
    assert written.removed["rows of other tables"] >= 60


def test_no_secret_stands_in_a_part_without_names(chrome, tmp_path):
    trim(chrome, tmp_path / "part.json", steps="1")
    anonymise(tmp_path / "part.json", tmp_path / "shared.json")
    assert planted_secrets.find_secrets((tmp_path / "shared.json").read_bytes()) == []
    assert "trim" in json.loads((tmp_path / "shared.json").read_text())["traceq"]


@pytest.mark.sample(2)
@pytest.mark.parametrize("path", RUNS)
def test_the_report_is_the_same_but_for_names(path, database, tmp_path):
    target = tmp_path / ("shared.json.gz" if ".json" in path.name else "shared.sqlite")
    anonymise(path, target)
    assert database_diff.differences(database(path), database(target)) == {}


@pytest.mark.slow
@pytest.mark.parametrize("path", [KINETO, NSYS], ids=lambda path: path.name)
def test_a_part_without_names_has_the_steps_of_the_part(path, database, tmp_path):
    suffix = ".json" if ".json" in path.name else ".sqlite"
    trim(path, tmp_path / f"part{suffix}", window="1ms..")
    anonymise(tmp_path / f"part{suffix}", tmp_path / f"shared{suffix}")
    assert database_diff.differences(database(tmp_path / f"part{suffix}"), database(tmp_path / f"shared{suffix}")) == {}


def test_names_that_are_no_utf8_are_no_obstacle(tmp_path):
    path = tmp_path / "export.sqlite"
    path.write_bytes(NSYS.read_bytes())
    with closing(sqlite3.connect(path)) as export:
        export.execute("update NVTX_EVENTS set text = cast(x'ff61636d65ff' as text), textId = null where rowid = 3")
        export.execute(
            "update StringIds set value = cast(x'ff61636d65ff' as text) where id = (select nameId from ThreadNames limit 1)"
        )
        export.commit()
    anonymise(path, tmp_path / "shared.sqlite")
    assert b"acme" not in (tmp_path / "shared.sqlite").read_bytes()


def test_the_same_seed_makes_the_same_file_and_no_seed_another(chrome, tmp_path):
    for name, seed in (("a", "s"), ("b", "s"), ("c", "t"), ("d", None), ("e", None)):
        anonymise(chrome, tmp_path / f"{name}.json", seed=seed)
    a, b, *others = ((tmp_path / f"{name}.json").read_bytes() for name in "abcde")
    assert a == b
    assert len({a, *others}) == 4


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("train step 17", "train step 17"),
        ("## forward:layer_3 ##", "## forward:layer_3 ##"),
        ("Optimizer.step#AdamW.step", "Optimizer.step#AdamW.step"),
        ("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", None),
        ("nccl:all_reduce", None),
        ("execute_32_context_0(sq0sk0sqsq0sqsk0)_generation_32(sq32sk8000sqsq32sqsk8000)", None),
        ("step[DECODE bs=32]", None),
        ("traceq.step#3", None),
        ("FSDP::pre_forward (layers.3)", None),
    ],
)
def test_what_tells_something_stays(name, shown):
    assert Names(b"key").show("annotation", name) == (shown or name)


def test_other_words_are_replaced_and_numbers_that_count_stay():
    names = Names(b"key")
    first, second = names.show("annotation", "acme: step 17"), names.show("annotation", "acme: step 18")
    assert first.startswith("n")
    assert first.replace("17", "18") == second
    assert "acme" not in first
    for secret in planted_secrets.SECRETS:
        assert secret not in names.show("annotation", secret)
        assert secret not in names.show("operator", secret)
        assert secret not in names.show("thread", secret)
        assert secret not in names.show("frame", f"{secret}(3): f")


def test_what_cannot_be_is_said(tmp_path):
    with pytest.raises(WrongUse, match="sqlite"):
        anonymise(NSYS, tmp_path / "shared.json")
    with pytest.raises(WrongUse, match="is the input"):
        anonymise(KINETO, KINETO)
    (tmp_path / "there.json").write_text("mine")
    with pytest.raises(WrongUse, match="--force"):
        anonymise(KINETO, tmp_path / "there.json")
    anonymise(KINETO, tmp_path / "there.json", force=True)
    job = tmp_path / "job"
    job.mkdir()
    for rank in range(2):
        (job / f"{rank}.json").write_text(
            '{"traceEvents": [{"ph": "X", "name": "a", "ts": 1, "dur": 1, "pid": 1, "tid": 1}]}'
        )
    with pytest.raises(
        WrongUse, match="so far only traces of nsys and of the PyTorch profiler can be anonymised; share a report"
    ):
        check_suffix(SimpleNamespace(path=job, importer=SimpleNamespace(NAME="rocm")), job, "anonymised")
    with pytest.raises(WrongUse, match="2 traces"):
        anonymise(job, tmp_path / "shared.json")


_NOBODY = "acme", "alice", "hunter", "patient"


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("operator", "AcmeBankSecretLossBackward"),
        ("operator", "AcmeBackward0"),
        ("operator", "_C::acmebank_hunter2_op"),
        ("operator", "torch::acmebank_op"),
        ("operator", "triton::acmebank_op"),
        ("operator", "autograd::engine::evaluate_function: AcmebankLossBackward0"),
        ("annotation", "torch::acmebank_op"),
        ("annotation", "torch.acmebank.alice"),
        ("annotation", "autograd::engine::evaluate_function: AcmebankLossBackward0"),
        ("annotation", "cuAlice_acmebank"),
        ("frame", "/home/alice/acmebank/transformers/acmebank_hunter2.py(12): forward"),
        ("frame", "/home/alice/streaming/acmebank/run.py(3): alice_forward"),
        ("frame", "/data/logging/acme/alice.py(3): go"),
        ("frame", "streaming/acmebank/run.py(3): alice"),
        ("frame", "random.py(3): acmebank_alice"),
        ("frame", "torch/nn/modules/acmezq_alice.py(12): forward"),
        ("frame", "torch/acmezq/hunter_patient.py(3): acmetrain"),
        ("frame", "numpy/acme_hunter/x.py(3): y"),
        ("frame", "vllm/AcmeModel.py(3): AlicePatient.forward"),
        ("frame", "/opt/venv/lib/python3.11/site-packages/transformers/acme/alice.py(3): forward"),
        ("frame", "/usr/lib/python3.11/random.py(3): acme_hunter"),
        ("call", "culprit_alice"),
        ("call", "customer_acmebank_hunter2"),
        ("call", "cudaLaunch_alice"),
        ("call", "MPI_Alice_acme"),
        ("call", "CUPTI alice"),
        ("os_call", "alice_secret"),
        ("os_call", "acmebank_alice_hunter"),
        ("thread", "thread 1 (pt_alice_hunter2)"),
        ("thread", "pt_alice"),
        ("thread", "NCCL alice hunter"),
        ("thread", "[NSys alice]"),
    ],
)
def test_what_only_looks_public_is_replaced(kind, name):
    shown = Names(b"key").show(kind, name)
    assert not [word for word in _NOBODY if word in shown.lower()]


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("operator", "AddmmBackward0"),
        ("operator", "CudnnConvolutionBackward"),
        ("operator", "autograd::engine::evaluate_function: NllLossBackward0"),
        ("operator", "torch::autograd::AccumulateGrad"),
        ("operator", "torch::distributed::reducer::mul_out"),
        ("operator", "_C::fused_add_rms_norm"),
        ("operator", "_C_cache_ops::reshape_and_cache_flash"),
        ("operator", "vllm::unified_attention_with_output"),
        ("frame", "torch/nn/modules/module.py(1773): _call_impl"),
        ("frame", "torch/optim/optimizer.py(480): profile_hook_step"),
        ("frame", "torch/utils/data/dataloader.py(630): __next__"),
        ("frame", "torch/distributed/fsdp/fully_sharded_data_parallel.py(850): forward"),
        ("frame", "torch/autograd/graph.py(823): _engine_run_backward"),
        ("frame", "numpy/core/fromnumeric.py(69): concatenate"),
        ("call", "cudaLaunchKernelExC_v11060"),
        ("call", "cudaMemcpyAsync_ptsz_v7000"),
        ("call", "MPI_Comm_split_type"),
        ("call", "ncclAllReduce"),
        ("os_call", "pthread_cond_timedwait"),
        ("os_call", "open64"),
        ("thread", "thread 1 (pt_main_thread)"),
        ("thread", "pt_autograd_0"),
        ("thread", "NCCL Service 3"),
    ],
)
def test_what_is_public_stays(kind, name):
    assert Names(b"key").show(kind, name) == name


def test_frames_lose_the_folders_of_where_libraries_are_installed():
    names = Names(b"key")
    assert names.show("frame", "/home/a/venv/lib/python3.11/site-packages/transformers/trainer.py(3): train") == (
        "transformers/trainer.py(3): train"
    )
    assert names.show("frame", "/opt/conda/lib/python3.11/threading.py(3): run") == "threading.py(3): run"


@pytest.mark.parametrize(
    "text", ["token 10 1 2 3", "192_168_1_20", "4111 1111 1111 1111", "card 4111111", "10.1.2.3", "00_1b_44_11_3a_b7"]
)
def test_numbers_in_a_row_are_replaced(text):
    shown = Names(b"key").show("annotation", text)
    assert not [number for number in ("44", "192", "168", "4111", "1111", "10 ", "1_", "1.2") if number in shown]


def test_numbers_that_count_stay():
    assert Names(b"key").show("annotation", "step 17 layer_3 4 forward") == "step 17 layer_3 4 forward"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("aten::mm, seq = 5, op_id = 3, sizes = [[1, 2], []], input_op_ids = [(1,0), (2,-1)]", None),
        ("AddmmBackward0, seq = 12", None),
        ("ncclAllReduce", None),
        ("forward, customer=acmebank user=alice pass=hunter", ""),
        ("aten::mm, op_id=3, host=acme alice", ""),
        (",alice acmebank hunter", ""),
        ("load batch, acmebank[alice]", ""),
        ("nccl_alice_acmebank", ""),
        ("nvshmemalice_acmebank", ""),
    ],
)
def test_behind_the_comma_of_a_range_stands_what_emit_nvtx_writes(text, shown):
    found = nsys_names._show_range(Names(b"key"), text)
    assert found == text if shown is None else not [word for word in _NOBODY if word in found]


@pytest.mark.parametrize(
    "name", ["libtorch_acmebank.so.1", "libtorch.so.alice-gpu", "ld-alice-hunter2", "libc.so.alice", "[alice acme]"]
)
def test_libraries_are_public_with_nothing_but_versions(name):
    assert not [word for word in _NOBODY if word in nsys_names._show_library(Names(b"key"), f"/home/x/{name}")]


def test_public_libraries_stay():
    for name in ("libtorch_cpu.so", "libc.so.6", "libc-2.31.so", "libpython3.11.so.1.0", "ld-linux-x86-64.so.2"):
        assert nsys_names._show_library(Names(b"key"), f"/usr/lib/{name}") == name
    assert nsys_names._show_library(Names(b"key"), "/x/libgomp-a34b3233.so.1") == "libgomp.so.1"


def test_options_of_nsys_have_known_values():
    assert nsys_names._is_option("CUDA_GRAPH_TRACE_OPTIONS:MODE", "Graph")
    assert nsys_names._is_option("CAPTURE_EVENT_TYPE", "NvtxEvents")
    for name in nsys_names.OPTIONS:
        assert not nsys_names._is_option(name, "alice")


def _share_trace(tmp_path, trace):
    path = tmp_path / "t.json"
    path.write_text(json.dumps(trace))
    anonymise(path, tmp_path / "shared.json", seed="s")
    return json.loads((tmp_path / "shared.json").read_text())


def _make_event(name, ts, **members):
    return {"ph": "X", "cat": "kernel", "name": name, "pid": 1, "tid": 1, "ts": ts, "dur": 5, "args": {}} | members


@pytest.mark.parametrize(
    "name",
    [
        "hf_abcdefghijklmnopqrstuvwxyz012345",
        "alice_gpu01.acme.internal",
        "k 10.1.2.3",
        "alice@acme.com",
        "/home/alice/k",
        "PATH=/x",
    ],
)
def test_what_is_recognised_is_no_name_of_a_kernel(name, tmp_path):
    shown = _share_trace(tmp_path, {"traceEvents": [_make_event(name, 1), _make_event("gemm", 8)]})["traceEvents"]
    assert shown[1]["name"] == "gemm"
    assert not [part for part in ("hf_", "alice", "acme", "10.1", "home") if part in shown[0]["name"]]


def test_concrete_inputs_are_numbers_that_may_be_sizes(tmp_path):
    given = [
        "4111111111111111",
        "[4111111111111111, 2]",
        "41791234567",
        "0.4111111111111111",
        "[64, -1]",
        "1e-05",
        "1.",
        "True",
    ]
    given += ["9223372036854775807", "0.10000000000000001", "134217728", "10.23.45.67"]
    event = _make_event("aten::mm", 1, cat="cpu_op", args={"Concrete Inputs": given})
    (shown,) = _share_trace(tmp_path, {"traceEvents": [event]})["traceEvents"]
    expected = [
        "",
        "",
        "",
        "0.411111",
        "[64, -1]",
        "1e-05",
        "1.",
        "True",
        "9223372036854775807",
        "0.1",
        "134217728",
        "",
    ]
    assert shown["args"]["Concrete Inputs"] == expected


def test_nothing_is_written_where_something_is_left(tmp_path, monkeypatch):
    monkeypatch.setattr(Names, "_show_kernel", lambda _names, text: text)
    path = tmp_path / "t.json"
    path.write_text(json.dumps({"traceEvents": [_make_event("hf_abcdefghijklmnopqrstuvwxyz012345", 1)]}))
    with pytest.raises(UnusableTrace, match="tokens and passwords would remain"):
        anonymise(path, tmp_path / "shared.json")
    export = tmp_path / "e.sqlite"
    export.write_bytes(NSYS.read_bytes())
    with closing(sqlite3.connect(export)) as changed:
        changed.execute(
            "update StringIds set value = 'ghp_16C7e42F292c6912E7710c838347Ae178B4a' where id ="
            " (select demangledName from CUPTI_ACTIVITY_KIND_KERNEL limit 1)"
        )
        changed.commit()
    with pytest.raises(UnusableTrace, match="tokens and passwords would remain"):
        anonymise(export, tmp_path / "shared.sqlite")
    assert {each.name for each in tmp_path.iterdir()} == {"t.json", "e.sqlite"}


def test_reasons_in_the_file_are_those_of_traceq(tmp_path):
    step = {"name": "s#1", "ts": 0, "ts_end": 9}
    excluded = ["password: hunter2 alice acmebank", "outside of --window", ["alice"], None]
    said = {"window": [0, 9], "steps": [step | {"excluded": each} for each in excluded]}
    shown = _share_trace(tmp_path, {"traceEvents": [_make_event("gemm", 1)], "traceq": {"trim": said}})["traceq"][
        "trim"
    ]
    assert [each.get("excluded") for each in shown["steps"]] == [
        chrome_names.UNKNOWN_REASON,
        "outside of --window",
        chrome_names.UNKNOWN_REASON,
        None,
    ]


def test_all_reasons_of_traceq_are_known():
    steps = Path(chrome_names.__file__).parents[1] / "analysis" / "steps"
    texts = "\n".join(path.read_text() for path in [*steps.glob("*.py"), *steps.glob("*.sql")])
    found = re.findall(
        r"""['"]((?:warm-up|incomplete|no step|outside of|another phase|the program)[ :][^'"\n]*)['"]""", texts
    )
    assert len(found) > 8
    assert {*found} <= {*read_allowed("chrome")["reasons"]}


@pytest.mark.parametrize(
    "said",
    [{"steps": [1]}, {"window": 5}, {"steps": 7}, {"steps": None}, {"source": []}, {"training": 3, "unit": {}}, 3, []],
)
def test_damage_in_what_traceq_wrote_is_dropped(said, tmp_path):
    _share_trace(tmp_path, {"traceEvents": [_make_event("gemm", 1)], "traceq": {"trim": said}})
    export = tmp_path / "e.sqlite"
    export.write_bytes(NSYS.read_bytes())
    with closing(sqlite3.connect(export)) as changed:
        changed.execute("create table TRACEQ (value text)")
        changed.execute("insert into TRACEQ values (?)", [json.dumps({"trim": said})])
        changed.commit()
    anonymise(export, tmp_path / "shared.sqlite")


def test_halves_of_ranges_find_each_other_by_other_ids(tmp_path, database):
    def half(phase, ts, **members):
        return {"ph": phase, "cat": "task", "name": "fetch", "pid": 1, "tid": 1, "ts": ts} | members

    halves = [
        *(half("b", 0, id="0xa11ce"), half("b", 5, id="0xb0b"), half("e", 10, id="0xa11ce"), half("e", 20, id="0xb0b")),
        *(half("b", 0, id2={"local": "0x3"}), half("b", 1, id2={"local": "0x4"})),
        *(half("e", 30, id2={"local": "0x3"}), half("e", 41, id2={"local": "0x4"})),
        *(half("b", 2, id="0x9", scope="alice"), half("b", 3, id="0x9", scope="bob")),
        *(half("e", 52, id="0x9", scope="alice"), half("e", 63, id="0x9", scope="bob")),
    ]
    shown = _share_trace(tmp_path, {"traceEvents": [_make_event("aten::mm", 1, cat="cpu_op"), *halves]})
    assert not [word for word in ("a11ce", "b0b", "alice", "bob") if word in json.dumps(shown)]
    lengths = "select ts, dur from cpu_slice order by ts, dur"
    whole, part = (database(tmp_path / name).execute(lengths).fetchall() for name in ("t.json", "shared.json"))
    assert whole == part
    assert len(part) == 7
