"""What is hidden by its sign in plain answers to agents, and what stays."""

from __future__ import annotations

import json
import re
from pathlib import Path

import planted_forms
import pytest
from msgspec.structs import replace

import traceq
from traceq.app.agents import Session
from traceq.app.report import report
from traceq.reports.secretless import hide_in_rows, hide_secrets
from traceq.sharing import meant, signs
from traceq.sharing.signs import hide_in_name, hide_in_sentence

FIXTURES = Path(__file__).parents[2] / "fixtures" / "run"
PUBLIC = [line.split("\t")[1] for line in (Path(__file__).parent / "public_names.txt").read_text().splitlines()]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("-----BEGIN RSA PRIVATE KEY-----\nMII\n-----END RSA PRIVATE KEY----- end", "[private key] end"),
        ("-----BEGIN PRIVATE KEY-----\nMIIcut", "[private key]"),
        ("eyJbajividuq421644829838.… and hf_7065735…", "[token].… and [token]"),
        ("http://bob:tr0ub4dor@host/x", "http://[password]@host/x"),
        ("WANDB_API_KEY=abcdef password: s3same", "WANDB_API_KEY=[password] password: [password]"),
        ("run --token hunter2 --steps 3", "run --token [password] --steps 3"),
        ("Authorization: Bearer abc.def-123", "Authorization: Bearer [password]"),
        ("git@github.com:acme/x.git and alice@gpu17:29500", "[mail address]:acme/x.git and [mail address]:29500"),
        ("falcon-login-03.acme.de, gpu17.acme.net:22", "[host name], [host name]"),
        ("tcp://node7:23456", "tcp://[host name]:23456"),
        ("USER=alice HOSTNAME=falcon", "USER=[user] HOSTNAME=[host name]"),
        ("fe80::1ff:fe23:4567:890a", "[network address]"),
        ("ip-10-0-0-3 10.0.0.5:29500", "[network address] [network address]"),
        ("123e4567-e89b-12d3-a456-426614174000", "[hash]"),
        ("call 555-123-4567, ssn 078-05-1120", "call [number], ssn [number]"),
        ("kern_192.168.7.21_8080", "kern_[network address]_8080"),
    ],
)
def test_a_sign_hides_the_secret_and_leaves_the_rest(text, expected):
    assert hide_in_name(text) == expected
    assert hide_in_name(expected) == expected


@pytest.mark.parametrize(
    "text",
    [
        *("model.net", "self.policy.net.forward", "layer1.attn.net", "torch.distributed.internal", "train.py:1234"),
        *("my-module.py:1234", "epoch 3/10", "step 1000000", "block_1_2_3_4", "gemm_64_64_32_32", "token=512"),
        *("max_tokens: 4096", "tokenizer: encode", "Tokenizer::encode", "at::native::add"),
        *(
            "<built-in method dim of Tensor object at 0x7eff05882a70>",
            "_attn_fwd_0d1d2d3d4d5de6de7de8c",
            "c10::add::cafe",
        ),
        *("memcpy@GLIBC_2.14", "__libc_start_main@@GLIBC_2.34", "idle-data@run.json@rank0", "ProjectMoonshine"),
        *("2026-11-29", "12:34:56", "v12.4.1", "acme_loss", "lr=0.000123456789", "/srv/proj/train.py(12): step"),
    ],
)
def test_names_of_programs_stay(text):
    assert (hide_in_name(text), hide_in_sentence(text)) == (text, text)


@pytest.mark.parametrize(
    "text",
    [
        # passwords
        *(
            "traceq.payload#samples=32,tokens=65536.5",
            "tokens_per_second=1234.5",
            "num_tokens=2048_bs=4",
            "token == end",
        ),
        *("prefill tokens=2048x16", "decode tokens: 1.5M", "tokenizer=llama-3", "next_token=sample_top_p"),
        *("CausalLM(secret_sauce=None)", "most_tokens = 64:", "secret=None", "api_key=True", "token=2048_bs=4"),
        *("eos_token=end2", "run --max-token 2048", "token: layer1", "token=greedy"),
        # addresses
        *("void custom_conv<3, 3, 100, 50, 36>(int)", "flashinfer::BatchDecode<100, 150, 36, 44>", "(2, 12, 197, 199)"),
        *("my_kernel_128_100_60_44", "nccl:all_reduce 33,34,35,36", "[33, 34, 35, 36]", "cuDNN 9.1.0.70", "12.8.4.1"),
        *("TensorRT 10.3.0.26", "curand==10.3.5.147", "12.3.3.100-1", "attn_2_12_197_199", "[160 162 164 166 171]"),
        # numbers
        *("512000000 ns", "1775078551425068123", '{"External id": 12345678, "flow": 1234567890123}', "[417912345678]"),
        *("<built-in method append of list object at 0x7f9f94845980>", "<x object at 0x7f99484598012>"),
        *(
            "gmemalign128o409640961",
            "seed=1234567891",
            "memcpy 134217728 bytes",
            "run_1695835535_trace",
            "cuda00014800053",
        ),
        *("void rng<2567483615ul, 11ul>()", "_ZILj256ELj4ELj4294967295EEE6__halfN2at4cuda", "<x at 0x7FF6A0B1C2D3>"),
        *(
            "fused__autocast_to__15680171862954066917",
            "f_17f63680_3410277241nvfuser",
            "quadd_session_102468189/streams",
        ),
        *("gemm 128-256-1024", "1024 2048 4096 8192", "kern_1024_4095_2049_1111"),
        # tokens, hosts, folders, addresses of mail
        *(
            "sk-learn-pipeline-transform",
            "sk-learn-pipeline-transform-v2",
            "hf_transformers_model_forward",
            "f@torch.compile",
        ),
        *("gpt-oss-120b:8000", "model.node-classifier.ai", "node-embedding:1024", "https://github.com/pytorch"),
        *("/opt/csrc/scratch/kernel.cu", "_ZN4main.intern.b96e08b3df0d779d.kd"),
    ],
)
def test_sizes_counts_versions_and_words_that_look_like_secrets_stay(text):
    assert (hide_in_name(text), hide_in_sentence(text)) == (text, text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"n": 123456789012, "a": ["x 417912345671"]}', '{"n": 123456789012, "a": ["x [number]"]}'),
        ('{"auth_token": "hunter2x9", "é": "ü 10.1.2.3"}', '{"auth_token": "[password]", "é": "ü [network address]"}'),
        (r'{"in": "{\"api_key\": \"s3same\"}"}', r'{"in": "{\"api_key\": \"[password]\"}"}'),
    ],
)
def test_a_text_of_json_stays_json_with_its_numbers(text, expected):
    shown = hide_in_name(text)
    assert shown == expected
    assert isinstance(json.loads(shown), dict)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("client_secret=abcd HF_TOKEN=s3same", "client_secret=[password] HF_TOKEN=[password]"),
        ("token: 9f8e7d6c5b4a3f2e1d0c:", "token: [password]:"),
        ("sk-proj-Zz9aBcDeFgHiJkLmNoPqRsTuVwXyZ012 AKIAIOSFODNN7EXAMPLE", "[token] [token]"),
        ("10_23_45_67, 192.168.1.2 at 203,0,113,77", "[network address], [network address] at [network address]"),
        ("thread 1 (101,102,103,105)", "thread 1 ([network address])"),
        ("run.py:12 119 125 252 113", "run.py:12 [network address]"),
        ("thread 1 (1290, 7112, 7486, 3964)", "thread 1 ([number])"),
        ("step[EXTEND bs=720290725074 toks=1]", "step[EXTEND bs=[number] toks=1]"),
        ("run417912345671 worker_4179123451", "run[number] worker_[number]"),
        ("dgx-acme:29500 ip-10-1-2-3.acme.internal", "[host name]:29500 [host name]"),
    ],
)
def test_what_only_a_secret_looks_like_is_hidden_still(text, expected):
    assert hide_in_name(text) == expected


def test_public_names_stay_in_names_and_sentences():
    assert len(PUBLIC) >= 200
    assert [name for name in PUBLIC if hide_in_name(name) != name or hide_in_sentence(name) != name] == []


def test_what_traceq_writes_of_a_trace_stays():
    for name in ("kineto_2021_array.json.gz", "nsys_2026.2.sqlite"):
        content = report(FIXTURES / name, scope="document").content
        assert hide_secrets(content) == content


def test_a_sentence_has_the_same_label_as_the_name_it_quotes():
    content = report(FIXTURES / "nsys_2026.2.sqlite", scope="document").content
    (trace,) = content.traces
    finding = trace.findings[0]
    name = "eval of 0617 546660"
    finding = replace(
        finding,
        title=f"Most of it is in {name}, ts 1775078551425068000",
        summary=replace(finding.summary, query=f"select 1 where name = '{name}'", columns=("name",), rows=((name,),)),
    )
    (shown,) = hide_secrets(replace(content, traces=(replace(trace, findings=(finding,)),))).traces
    (found,) = shown.findings
    assert found.title == "Most of it is in eval of [number], ts 1775078551425068000"
    assert found.summary.rows == (("eval of [number]",),)
    first, query = found.summary.query.split("\n")
    assert re.fullmatch("-- .*hidden in this query.*", first)
    assert query == "select 1 where name = 'eval of [number]'"
    assert (found.finding_id, shown.trace.sha256) == (finding.finding_id, trace.trace.sha256)


def test_rows_of_queries_hide_secrets_at_any_depth_and_keep_digests_and_ids():
    digest = "0a1b2c3d4e5f" * 4
    columns, rows = hide_in_rows(
        ["name", "sha256", "shape", "args", "query", "n", "id", "of 10.1.2.3"],
        [
            [
                *("to x@example.org", digest, "101, 102, 103, 105", {"log": ["key hf_0123456789abcdefgh"]}),
                *("select '10.1.2.3'", 417912345678, "a@b.org@rank0", digest),
            ]
        ],
        {"a@b.org@rank0"},
    )
    assert columns[-1] == "of [network address]"
    name, kept, shape, args, query, number, finding_id, hidden = rows[0]
    assert (name, kept, shape) == ("to [mail address]", digest, "101, 102, 103, 105")
    assert args == {"log": ["key [token]"]}
    assert query.endswith("\nselect '[network address]'")
    assert (number, finding_id, hidden) == (417912345678, "a@b.org@rank0", "[hash]")


def test_an_error_of_a_query_quotes_no_secret(tmp_path):
    path = planted_forms.write_kineto(tmp_path / "trace.json", ["hf_706573547121kagokuboq"])
    with Session() as session:
        (opened,) = session.sql(str(path), "select distinct name from gpu_slice").data["rows"]
        assert opened == ["[token]"]
        with pytest.raises(traceq.QueryError, match="token") as caught:
            session.sql(str(path), "select name::int from gpu_slice")
        assert "kagokuboq" not in str(caught.value)
        assert "kagokuboq" not in json.dumps(session.whatif(str(path)).data)


def test_the_examples_of_the_docstring():
    pairs = re.findall(r"^    (\S.*?) {2,}(\S.*)$", signs.__doc__, re.MULTILINE)
    assert len(pairs) == 3
    for text, expected in pairs:
        assert hide_in_name(text.replace("hf_Qw...", "hf_QwErTyUiOpAsDfGh")) == expected


def test_the_examples_of_what_is_meant():
    meant_line, other_line = re.findall("^    (.*) {3,}(?:not )?meant$", meant.__doc__, re.MULTILINE)
    meant_texts, others = meant_line.split(", "), other_line.split(", ")
    assert [text for text in meant_texts if hide_in_name(text.strip()) == text.strip()] == []
    assert [text for text in others if hide_in_name(text.strip()) != text.strip()] == []
