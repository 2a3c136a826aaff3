from __future__ import annotations

import re
import time
from functools import cache
from pathlib import Path

import handmade_traces
import pytest
from handmade_traces import MadeUp, complete, database, hostile
from hypothesis import given, settings
from hypothesis import strategies as st
from labelled.packs import as_if_confirmed
from msgspec.structs import replace

from traceq.common import keyed
from traceq.diagnosis.rules.registry import all_rules
from traceq.reports import RENDERERS, redact
from traceq.reports.build import build
from traceq.reports.model import Note, Phase, Report
from traceq.reports.redact import redact_report
from traceq.reports.topics.kernels import KernelName


@cache
def plain():
    """The report of a trace of nothing in particular, of which tests change what they are about."""
    report = build(database(MadeUp().step(0, 100).gpu("h2d", 0, 20).gpu("compute", 20, 80)), 10)
    return replace(report, traces=(replace(report.traces[0], queries={}, not_applicable=(), clean=()),))


def with_notes(*texts, **facts):
    (trace,) = plain().traces
    notes = tuple(Note("info", "test", 1, text) for text in texts)
    return replace(plain(), traces=(replace(trace, notes=notes, trace=replace(trace.trace, **facts)),))


def numbered(texts):
    """The texts with their stand-ins numbered in the order they come in, as keys make others each time."""
    numbers = {}
    text = "\0".join(texts)
    for found in re.findall(r"name-([a-z2-7]{12})", text):
        numbers.setdefault(found, len(numbers) + 1)
    return re.sub(r"name-([a-z2-7]{12})", lambda match: f"name-{numbers[match[1]]}", text).split("\0")


def shown(*texts, **facts):
    """What becomes of the texts, in one report."""
    found = numbered([note.text for note in redact_report(with_notes(*texts, **facts)).traces[0].notes])
    return found[0] if len(found) == 1 else found


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("/home/alice/proj/train.py(12): forward", "name-1(12): forward"),
        (r"C:\Users\Alice\proj\train.py ran", "C:name-1 ran"),
        ("reads /data/x/y and writes /data/z/w", "reads name-1 and writes name-2"),
        ("f<(lambda at /home/alice/x.cu:10:3)>(int)", "f<(lambda at name-1:10:3)>(int)"),
        ("s3://acme-data/run7/shard-3.tar", "name-1"),
        ("git@github.com:acme/repo.git", "name-1"),
        ("alice@node-0123: slow", "name-1: slow"),
        ("10.0.0.3:29500 and node-0123:29500", "name-1:29500 and name-2:29500"),
        ("gpu17 and gpu-17 and rank 17", "name-1 and name-2 and rank 17"),
        ("fe80::1ff:fe23:4567:890a", "name-1"),
        ("USER=alice WANDB_API_KEY=123", "name-1=123"),
        ("python run.py --secret=hf_x --steps 10 --lr=1e-3", "python run.py name-1 --steps 10 --lr=1e-3"),
        ("key 0123456789abcdef0123456789abcdef", "key name-1"),
        ("the alice bob carol model", "the name-1 model"),
        ("Zürich, Ωmega", "name-1"),
    ],
)
def test_in_a_sentence_every_word_that_is_not_known_is_replaced(text, expected):
    assert shown(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "3 GB/s, p99 / p50, 12.3 %, 1,234 kernels; 4.56 ms (2x)",
        "`NCCL_DEBUG=INFO`; export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True",
        "torch.backends.cudnn.benchmark = True, DataLoader(..., pin_memory=True)",
        "`nsys profile --trace=cuda,nvtx,osrt --sample=process-tree`",
        "aten::mul launches cudaLaunchKernel, then c10d::allreduce_",
    ],
)
def test_traceq_s_own_words_numbers_and_public_names_stay(text):
    assert shown(text) == text


def names(*texts):
    """What becomes of names of phases."""
    (trace,) = plain().traces
    phases = tuple(Phase(text, 1, 1, 1.0, None) for text in texts)
    (trace,) = redact_report(replace(plain(), traces=(replace(trace, phases=phases),))).traces
    return numbered([each.phase for each in trace.phases])


@pytest.mark.parametrize(
    "name",
    [
        "aten::native_layer_norm",
        "autograd::engine::evaluate_function: MulBackward0",
        "cudaMemcpyAsync",
        "hipLaunchKernel",
        "nccl:all_reduce",
        "ProfilerStep#12",
        "Optimizer.step#AdamW.step",
        "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__",
        "torch/nn/modules/activation.py(1043): forward",
        "## Call CompiledFxGraph fal4xpiah2v6blbfmwwonu52dvevbsmlh743q5tkclrt4gcqpzea ##",
        "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, c10::add<c10::Half, 4> >::{lambda()#1}>",
        "_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_11FillFunctorIfEENS_6detail5ArrayIPcLi1EEEEEviT0_T1_",
        "Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT256x192x64_MI16x16x1_SN_LDSB1",
        "Memcpy HtoD (Pageable -> Device)",
        "[CUDA memcpy Device-to-Host]",
        "NVIDIA H100 80GB HBM3",
        "Tesla V100-SXM2-32GB",
        "NVIDIA A100-PG509-200",
        "NVIDIA A100-PCIE-40GB",
        "NVIDIA H100 80GB HBM3 MIG 1g.10gb",
        "NVIDIA GeForce RTX 4090 Laptop GPU",
        "NVIDIA RTX PRO 6000 Blackwell Server Edition",
        "AMD Instinct MI300X HF",
        "AMD INSTINCT MI250X (MCM) OAM AC MBA",
        "AMD Radeon RX 7900 XTX",
        "gfx942",
        "Intel(R) Iris(R) Xe Graphics",
        "Intel(R) Xeon(R) Platinum 8480C @ 2.00GHz",
        "AMD EPYC 7763 64-Core Processor",
        "forward",
        "idle_sync",
    ],
)
def test_names_that_libraries_and_traceq_give_stay(name):
    assert names(name) == [name]


@pytest.mark.parametrize(
    "name",
    [
        "training of the model",  # words of traceq, and yet not its own sentence
        "acme::attention",
        "void acme",
        "void at::f</home/alice>",
        "torch/../alice/x.py(3): f",
        "torch/nn/modules/acme_alice.py(12): forward",
        "torch/nn/modules/module.py(12): alice",
        "cudaLaunch of alice",
        "Optimizer.step#AcmeOptimizer.step",
        "ProfilerStep#12 alice",
        "H100 of alice",
        "NVIDIA H100 of alice",
        "NVIDIA acme-node7",
        "AMD Instinct MI300X/home/alice",
        "Intel(R) Xeon(R) alice",
        "AMD 4111 1111 1111 1111",
        "NVIDIA 10.0.0.3",
        "gfx942.acme.com",
        "gpu-17",
        "4111111111111111",
        "4111_1111_1111_1111",
        "123-45-6789",
        "41791234567",
    ],
)
def test_other_names_are_replaced_as_a_whole(name):
    assert names(name) == ["name-1"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("nccl_version: 2.17.1 against 2.28.3", "nccl_version: 2.17.1 against 2.28.3"),
        ("cuda_driver_version: 12000, 13030 against 12.8.93", "cuda_driver_version: 12000, 13030 against 12.8.93"),
        (
            "version of the profiler: 2.5.1+cu124 against 2026.2.1.210",
            "version of the profiler: 2.5.1+cu124 against 2026.2.1.210",
        ),
        ("nccl_version: 2.17.1 against 2.28.3@alice", "nccl_version: 2.17.1 against name-1"),
        ("nccl_version: 10.0.0.3 against 2.28.3", "nccl_version: name-1 against name-2"),
        ("acme_version: 2.17.1", "name-1"),
        ("node 2.17.1", "node name-1"),
    ],
)
def test_versions_of_drivers_and_libraries_stay_where_their_name_says_so(text, expected):
    assert shown(text) == expected


def test_of_a_kernel_stays_what_libraries_call_theirs():
    (trace,) = plain().traces
    kernels = [
        KernelName(name, 1, 1, None, None, "unknown", None, 1.0, 1.0, 1, 1, None)
        for name in ("acme_attention<4>(int)", "x at /home/a")
    ]
    trace = replace(trace, topics=replace(trace.topics, kernels=replace(trace.topics.kernels, top=tuple(kernels))))
    notes = (Note("info", "test", 1, "slow: acme_attention<4>(int)"),)
    (found,) = redact_report(replace(plain(), traces=(replace(trace, notes=notes),))).traces
    assert numbered([*(each.name for each in found.topics.kernels.top), found.notes[0].text]) == [
        "name-1_attention<4>(int)",
        "name-2",
        "slow: name-1_attention<4>(int)",
    ]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("aten::johndoe2", "aten::name-1"),
        ("c10d::johndoe3_", "c10d::name-1_"),
        ("nccl:johndoe7", "nccl:name-1"),
        ("cudaJohndoe9", "cudaname-1"),
        ("void at::native::johndoe_kernel<float>(int)", "void at::native::name-1_kernel<float>(int)"),
        ("torch.johndoe.model", "torch.name-1.model"),
        ("NCCL_JOHNDOE", "NCCL_name-1"),
        ("ncclDevKernel_johndoe", "ncclDevKernel_name-1"),
        ("triton_poi_fused_johndoe_0", "triton_poi_fused_name-1_0"),
        ("_ZN2at7johndoe6kernelEPf", "_ZN2at17name-16kernelEPf"),
        ("ncclDevKernel_AllReduce_10.23.45.67", "ncclDevKernel_AllReduce_name-1"),
        ("sm90_xmma_gemm_192.168.7.21_8080", "sm90_xmma_gemm_name-1"),
        ("void at::native::kernel_00_1b_44_11_3a_b7(int)", "void at::native::kernel_name-1(int)"),
        ("void at::native::gemm<4111111111111111>(int)", "void at::native::gemm<name-1>(int)"),
    ],
)
def test_what_stands_behind_the_beginning_of_a_library_s_name_is_nobody_s(name, expected):
    assert names(name) == [expected]
    assert "johndoe" not in shown(f"most of it is in {name}")


def test_the_same_text_has_the_same_stand_in_everywhere():
    assert shown("alice was here", "of bob", "of alice, by bob") == [
        "name-1 was here",
        "of name-2",
        "of name-1, by name-2",
    ]
    (trace,) = plain().traces
    trace = replace(
        trace,
        phases=(Phase("eval of acme", 1, 1, 1.0, None),),
        notes=(Note("info", "test", 1, "most of it is in eval of acme"),),
    )
    (found,) = redact_report(replace(plain(), traces=(trace,))).traces
    assert numbered([found.notes[0].text, found.phases[0].phase]) == ["most of it is in name-1", "name-1"]


def test_who_has_not_the_key_cannot_try_names_out(monkeypatch):
    def stand_in(key):
        monkeypatch.setattr(keyed, "_secret", lambda: key)
        return redact_report(with_notes("by alice")).traces[0].notes[0].text

    assert stand_in(b"one") == stand_in(b"one") != stand_in(b"another")


def test_stand_ins_of_many_names_differ_and_have_sixty_bits():
    pseudonyms = keyed.Pseudonyms(b"key")
    made = {pseudonyms.short_word(f"user{number}") for number in range(100_000)}
    assert len(made) == 100_000
    assert all(re.fullmatch("[a-z2-7]{12}", text) for text in made)
    assert [len({text[place] for text in made}) for place in range(12)] == [32] * 12


def test_what_a_rule_cut_off_gives_nothing_away():
    assert shown("/home/alice/secret-pro…", "of ali…", "10.23.4…") == ["name-1…", "of name-2…", "name-3…"]


def test_the_examples_of_the_docstring():
    pairs = re.findall(r"^    (\S.*?) {2,}(\S.*)$", redact.__doc__, re.MULTILINE)
    assert len(pairs) == 3
    assert shown(*(text for text, _ in pairs)) == numbered([expected for _, expected in pairs])


FRAGMENTS = st.sampled_from(
    [
        *(
            "/home/alice/p/x.py",
            "alice",
            "Alice",
            "ali…",
            "acme",
            "@",
            "node-7",
            "node-7.acme.com",
            "10.0.0.3",
            ":",
            "::",
            "://",
        ),
        *(
            "<dir1>",
            "<user1>",
            "<host2>/",
            "/",
            "\\",
            "\\\\",
            "C:\\",
            "~",
            ".",
            "..",
            "-",
            "--",
            "--x=",
            "--token ",
            "=",
            " ",
            '"',
        ),
        *(
            "A_B=",
            "password:",
            "Bearer ",
            "python x.py ",
            ".py",
            "…",
            "(1)",
            "torch/nn/",
            "s3://b/c",
            "hf_" + "aB3" * 9,
            "\n",
            "\u0131",
        ),
        *(
            "https://github.com/",
            "file://",
            "site-packages/torch/x/",
            "trace-0123456789ab.json",
            "?k=v",
            "'",
            "a" * 90 + "…",
        ),
    ]
)
TEXTS = st.lists(FRAGMENTS | st.text(max_size=4), max_size=8).map("".join)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(st.lists(TEXTS, max_size=3), st.none() | TEXTS)
def test_once_is_enough(texts, run):
    """Again it has other stand-ins in the same places, as a name may look like one."""
    once = redact_report(with_notes("", *texts, run=run))
    assert numbered([str(redact_report(once))]) == numbered([str(once)])


# ---- whole reports


def test_of_a_trace_without_secrets_only_the_file_is_renamed():
    report = handmade_traces.report(complete(), rules=as_if_confirmed(), scope="drawing")
    for before, trace in zip(report.traces, redact_report(report).traces, strict=True):
        assert trace.trace.file == "trace-0123456789ab.pt.trace.json"
        assert replace(trace, trace=before.trace) == before


def test_the_titles_of_all_rules_hold_nothing_to_replace():
    titles = [f"{rule.manual.title}\n{' '.join(rule.manual.references)}" for rule in all_rules()]
    assert shown(*titles) == titles


def test_a_file_is_named_by_its_hash_and_keeps_its_suffix():
    for file, expected in {
        "acme/run.pt.trace.json.gz": "trace-0123456789ab.pt.trace.json.gz",
        "r0/acme_run": "trace-0123456789ab",
        "acme.v2.sqlite": "trace-0123456789ab.sqlite",
    }.items():
        (trace,) = redact_report(with_notes(f"cannot read {Path(file).name}: damaged", file=file)).traces
        assert (trace.trace.file, trace.notes[0].text) == (expected, f"cannot read {expected}: damaged")


def ids_of(run, *notes):
    """The run and the id of the first finding, as redacted."""
    report = with_notes(*notes, run=run)
    (trace,) = report.traces
    finding = replace(trace.findings[0], finding_id=f"idle-unattributed@{run}@rank0")
    named = replace(trace, findings=(finding,), close_ups={finding.finding_id: finding.finding_id})
    (trace,) = redact_report(replace(report, traces=(named,))).traces
    (finding,) = trace.findings
    assert trace.close_ups == {finding.finding_id: finding.finding_id}
    return trace.trace.run, finding.finding_id


def test_ids_of_findings_depend_on_the_name_of_the_run_alone():
    assert ids_of("alice@node7") == ("run-c38e2483", "idle-unattributed@run-c38e2483@rank0")
    assert ids_of("alice@node7", "/home/bob/x.py bob@host-2", "carol@host-3 /mnt/x/y") == ids_of("alice@node7")


def test_traces_of_one_report_share_stand_ins():
    (first,), (second,) = (with_notes(f"/home/alice/{n}/x.py by alice").traces for n in range(2))
    both = redact_report(replace(plain(), traces=(first, second))).traces
    assert numbered([each.notes[0].text for each in both]) == ["name-1 by name-2", "name-3 by name-2"]


def test_a_query_that_quotes_a_secret_gets_stand_ins():
    (trace,) = plain().traces
    finding = trace.findings[0]
    query = "select 1 from cpu_slice where name = '/home/alice/x.py' and thread = 'alice'"
    own = replace(finding, rule="my-rule", summary=replace(finding.summary, query=query))
    (found,) = redact_report(replace(plain(), traces=(replace(trace, findings=(own,)),))).traces[0].findings
    assert numbered([found.summary.query]) == ["select 1 from cpu_slice where name = 'name-1' and thread = 'name-2'"]


# ---- nothing of what is secret is left

USER, PROJECT, HOST, VALUE = "canaryuser", "canaryproject", "canary-17", "canaryvalue"
PATH = f"/home/{USER}/{PROJECT}/train.py"


def canary(**facts):
    """Secrets wherever names of a trace reach a report; so long that some are cut off."""
    long = f"/home/{USER}/{PROJECT}/{'deep/' * 20}{PROJECT}/x.py"
    trace = MadeUp(
        path=f"/home/{USER}/{PROJECT}/{PROJECT}.pt.trace.json",
        run=f"{USER} {PROJECT}/run.sh",
        producer=f"tool at {PATH}",
        **facts,
    )
    trace.device(0, f"GPU of {USER}@{HOST}.canary.com")
    trace.step(0, 50_000, name=f"{PATH}: warm-up", excluded=f"as {USER} said", source="annotation", thread=0)
    for number in range(1, 4):
        ts = number * 100_000
        trace.step(ts, 100_000, name=f"{PATH}: step", source="annotation", thread=0)
        trace.cpu("annotation", f"{PATH}: step", ts, 100_000)
        trace.cpu("annotation", f"traceq.phase#{USER}-phase", ts, 60_000)
        trace.cpu("annotation", f"traceq.fetch#s3://{PROJECT}/{PROJECT}/shard.tar", ts + 1_000, 20_000)
        trace.cpu("annotation", f"traceq.payload#{USER}=32", ts, 10)
        trace.cpu("python", f"{long}(12): {USER}_step", ts + 21_000, 70_000)
        trace.cpu("annotation", f"python {PATH} --name={VALUE} --key {VALUE}", ts + 22_000, 30_000)
        trace.cpu("op", f"{PROJECT}/ops/x.py::{USER}", ts + 23_000, 10_000)
        launch = trace.cpu("runtime", "cudaLaunchKernel", ts + 24_000, 5_000)
        kernel = f"f<(lambda at {PATH}:3:4)>(int) {'x' * 60} {USER}"
        trace.gpu("compute", ts + 30_000, 10_000, launch=launch, name=kernel)
        trace.cpu("op", f"gloo:{USER}@{HOST}", ts + 60_000, 20_000)
        trace.cpu("os", f"open {long}", ts + 92_000, 5_000)
        copy = trace.cpu("runtime", "cudaMemcpyAsync", ts + 98_000, 500)
        trace.gpu("h2d", ts + 98_500, 400, launch=copy, bytes=1 << 20, name=f"{USER} HtoD")
    trace.note("error", f"code_{USER}", f"{HOST}: CANARY_NAME={VALUE} in {long}, mail {USER}@{HOST}.canary.com")
    return trace.note("info", "x", f"/data/{PROJECT}/{'é' * 700}/{USER}/x.py")


def on_host_only_canary():
    trace = canary()
    trace.rows["gpu_slice"] = []
    return trace


@pytest.fixture(scope="module")
def secrets():
    return build(database(canary(), on_host_only_canary(), hostile()), 20, scope="drawing")


@pytest.mark.sample(4)
@pytest.mark.parametrize("format_", RENDERERS)
def test_no_secret_is_in_any_format(secrets, format_):
    render = RENDERERS[format_]
    assert {USER, PROJECT, HOST, VALUE} <= set(re.findall(r"canary-\d+|canary[a-z]+", RENDERERS["json"](secrets)))
    page = render(redact_report(secrets))
    # The name of a variable stays. Text is wrapped, Markdown has a backslash before what could be markup.
    squeezed = re.sub(r"[\s\\…]", "", page).lower().replace("canary_name", "")
    assert "canary" not in squeezed
    assert "e.vil" not in squeezed
    assert page == render(redact_report(secrets))


def test_a_text_that_looks_like_a_stand_in_is_somebody_s():
    assert shown("by name-mergerofzeus", "name-571204 and name-acmeresearch") == [
        "by name-1",
        "name-2 and name-3",
    ]


def test_of_a_name_of_megabytes_the_beginning_is_shown():
    assert len(shown("/home/alice/" * 1_000_000)) < 10_000
    assert len(shown("x" * 10_000_000)) < 10_000


@pytest.mark.parametrize(
    "part",
    [
        "a",
        "/a",
        "a/",
        "/home/",
        "a.",
        "a@",
        "\\a",
        "C:\\a ",
        "--a=",
        "--a b ",
        "token=",
        "://",
        "1.",
        "a b/",
        "aB1",
        "a…",
    ],
)
def test_long_names_take_no_longer_than_their_length(part):
    begin = time.perf_counter()
    shown(part * (50_000 // len(part)))
    assert time.perf_counter() - begin < 5


@pytest.mark.parametrize("report", [Report((), "select 1")])
def test_a_report_of_no_trace(report):
    assert redact_report(report) == report
