"""What other kinds of parallelism would send and hold.

What it finds
    Jobs whose ranks exchange gradients, parameters or parts of layers of known size, and in which communication or
    memory is the limit: what each rank would send per step, and hold of the model, if the model were replicated
    (DDP), sharded (ZeRO-1, -2, -3; FSDP), or split into layers (TP) or stages (PP).

Why it matters
    Sharding and splitting trade bytes sent for bytes held. ZeRO-1 and -2 send what DDP sends and hold less; ZeRO-3
    sends half as much again. Tensor parallelism sends activations, which grow with the batch, and nothing hides
    them; a pipeline sends little and idles while it fills.

How it is measured
    Nothing is estimated: bytes of what is reduced in the backward pass (collective_slice, by group and pass), once a
    micro-batch (turns from forward to backward), are the gradients G; parameters P have their type under DDP, under
    FSDP that of what is gathered; states S of the optimizer are 2 P for torch.optim's Adam, not known for SGD. With n
    ranks, m micro-batches, of r of which gradients are reduced, and u optimizer steps, a rank sends in a step: DDP
    2 (n-1)/n G r; ZeRO-1 (n-1)/n (G r + P u); ZeRO-2 (n-1)/n (G m + P u); ZeRO-3 (n-1)/n (G + 2 P) m. Of L layers
    split over t ranks 2 (t-1)/t 4 A L m, with A the activations between layers, of which attention's queries have the
    size; of two stages A m, and 1 / (m + 1) of the step idles. PyTorch's ZeroRedundancyOptimizer, which all-reduces and
    then broadcasts, sends (n-1)/n P u more than DDP. Times are those at the highest bus bandwidth that these
    collectives reach here. The remark is made if communication takes at least 10 % of the step, or 85 % of the memory
    is in use; the batch of a rank stays as it is. Overlap is not subtracted.

What to try
    Replicate what fits, and send less often or fewer bits; shard no further than memory demands, within a machine;
    tensor parallelism within NVLink only; pipelines with many micro-batches.

References
    https://arxiv.org/abs/1910.02054
    https://arxiv.org/abs/1909.08053
    https://arxiv.org/abs/2104.04473
    https://github.com/NVIDIA/nccl-tests/blob/master/doc/PERFORMANCE.md
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from traceq.common.units import duration, share, short, size
from traceq.diagnosis.advice import Remark
from traceq.diagnosis.needs import CannotTell, NothingThere
from traceq.diagnosis.rules.shared.collectives import require_communication
from traceq.diagnosis.rules.shared.remedies import remedy_for
from traceq.diagnosis.rules.shared.wording import gb_per_s
from traceq.diagnosis.subject import Subject

Facts = Mapping[str, Any]
Choices = Mapping[str, Facts]


def judge(subject: Subject) -> Iterator[Remark]:
    """Yield a remark on what each rank sends and holds by kind of parallelism, where it matters."""
    require_communication(subject)
    subject.only_for("model")
    if subject.is_window:
        raise CannotTell("there are no steps; mark them with traceq.annotate")
    exposed = subject.ledger.get("communication", 0.0) / subject.step_ns
    (memory,) = subject.ask("parallelism_memory")
    if exposed < subject.threshold("parallelism_choices", "worth") and not _is_taken(subject, memory):
        raise NothingThere(f"communication takes {share(exposed)} of the step, and memory is not known to be short")
    facts = subject.ask("parallelism_facts")[0] | memory
    if facts["ranks"] is None and facts["tensor_ranks"] is None:
        raise CannotTell(
            "the bytes of gradients per micro-batch, their group, or what ranks reduce them for are not known"
        )
    choices = {row["choice"]: row for row in subject.ask("parallelism_choices")}
    replicates = subject.program.is_pytorch and subject.program.trains and facts["ranks"]
    texts = [_describe_model(facts, choices)] if replicates else []
    texts += [_describe_layers(facts, choices, subject)] if facts["tensor_ranks"] else []
    if not texts:
        raise NothingThere("the program is not known to train with PyTorch")
    fixes = [_advise_model(subject, facts, choices)] if replicates else []
    fixes += [_advise_layers(subject, facts, choices)] if facts["tensor_ranks"] else []
    yield Remark(text=" ".join(texts), query="parallelism_choices", fix=" ".join(fixes))


def _is_taken(subject: Subject, memory: Facts) -> bool:
    used, capacity = memory["used_bytes"], memory["capacity_bytes"]
    return bool(used and capacity and used >= subject.threshold("parallelism_choices", "memory_taken") * capacity)


def _sent_size(choice: Facts) -> str:
    return size(choice["sent_bytes"])


def _describe_model(facts: Facts, choices: Choices) -> str:
    ddp, first, second, third = (choices[name] for name in ("DDP", "ZeRO-1", "ZeRO-2", "ZeRO-3 (FSDP)"))
    how = "replicate" if facts["op"] == "all_reduce" else "shard"
    alike = ddp["sent_bytes"] == first["sent_bytes"] == second["sent_bytes"]
    sent = (
        f"{_sent_size(ddp)} with DDP, ZeRO-1 or ZeRO-2"
        if alike
        else f"{_sent_size(ddp)} with DDP, {_sent_size(first)} with ZeRO-1, {_sent_size(second)} with ZeRO-2"
    )
    lasting = (
        f": {duration(ddp['sending_ns'])} (DDP) and {duration(third['sending_ns'])} (ZeRO-3) at "
        f"{gb_per_s(facts['best_rate'])}, the best rate of these collectives"
        if facts["best_rate"]
        else ""
    )
    memory = f" of {size(facts['capacity_bytes'])}" if facts["capacity_bytes"] else ""
    return (
        f"{facts['ranks']} ranks {how} {facts['parameters']:,} trained parameters. In a step each rank sends {sent}, "
        f"{_sent_size(third)} with ZeRO-3 (FSDP){lasting}. Parameters and gradients take "
        f"{size(ddp['held_bytes'])}{memory} per rank, with ZeRO-2 {size(second['held_bytes'])}, with ZeRO-3 "
        f"{size(third['held_bytes'])}; "
        f"{_describe_states(facts, first)} {_describe_split(choices)}"
    )


def _describe_states(facts: Facts, sharded: Facts) -> str:
    if facts["state_bytes"] is None:
        return "what the optimizer keeps as well is not in the trace."
    return (
        f"the states of {facts['optimizer']} take {size(facts['state_bytes'])}, sharded (from ZeRO-1 on) "
        f"{size(sharded['state_bytes'])}."
    )


def _describe_split(choices: Choices) -> str:
    layers, stages = choices.get("TP 2, DP n/2"), choices.get("PP 2, DP n/2")
    if layers is None or stages is None:
        return (
            "What split layers or stages would send is not known, because activations between layers are not in "
            "the trace."
        )
    return (
        f"With each layer split over two ranks, a rank would send {_sent_size(layers)}; with two stages, "
        f"{_sent_size(stages)}, and it would idle for {share(stages['bubble_share'])} of the step at this "
        "number of micro-batches. Either way a rank holds half of the model."
    )


def _rows_of_layers(choices: Choices) -> list[Facts]:
    """Return the choices that split layers: as it is, then over other numbers of ranks."""
    return [row for name, row in choices.items() if name.startswith("TP ") and "," not in name]


def _describe_layers(facts: Facts, choices: Choices, subject: Subject) -> str:
    ranks = facts["tensor_ranks"]
    now, *others = _rows_of_layers(choices)
    exposed = subject.ledger.get("communication", 0.0)
    said = "".join(
        f"; over {number} ranks it would be {_sent_size(row)}, all together {size(number * row['sent_bytes'])} "
        f"instead of {size(ranks * now['sent_bytes'])}"
        for row in others
        for number in [int(row["choice"].removeprefix("TP "))]
    )
    lasting = (
        f", {duration(now['sending_ns'])} at {gb_per_s(facts['best_rate'])}, the best rate that they reach"
        if now["sending_ns"]
        else ""
    )
    late = (
        f" Exposed communication takes {duration(exposed)}: most of it is waiting, or slower transfers."
        if now["sending_ns"] and exposed > 2 * now["sending_ns"]
        else ""
    )
    return (
        f"Layers are split over {ranks} ranks, which all-reduce {short(facts['tensor_reductions'])} times a step: each sends "
        f"{_sent_size(now)}{lasting}{said}, with the same batch.{late}"
    )


def _advise_model(subject: Subject, facts: Facts, choices: Choices) -> str:
    second, third = (
        ("fully_shard(block, reshard_after_forward=False)", "fully_shard(block)")
        if subject.program.can_compile
        else ("FSDP(block, sharding_strategy=ShardingStrategy.SHARD_GRAD_OP)", "FSDP(block)")
    )
    if facts["op"] != "all_reduce":
        return (
            f"Keep parameters after the forward pass if they fit: `{second}` sends "
            f"{size(choices['ZeRO-2']['sent_bytes'])} instead of {size(choices['ZeRO-3 (FSDP)']['sent_bytes'])}."
        )
    if _is_taken(subject, facts):
        return (
            f"Shard as far as memory requires, and no further: first `{second}` (ZeRO-2), which sends no more "
            f"than replicas do if gradients are reduced in every micro-batch, then `{third}` (ZeRO-3)."
        )
    half = (
        ""
        if facts["gradient_bytes"] <= 2 * facts["parameters"]
        else (
            " Reduce them in 16 bits, which halves the bytes: `model.register_comm_hook(None, "
            "default_hooks.bf16_compress_hook)`."
        )
    )
    learning = f" {remedy_for(subject.program, 'rescale_learning')}" if "training" in subject.program.workloads else ""
    return (
        "Keep replicas while they fit, and send less often: with micro-batches, reduce only the gradients of "
        f"the last one (`with model.no_sync():`), or give each rank more samples per step.{half}{learning} "
        "Sharding does not send less."
    )


def _advise_layers(subject: Subject, facts: Facts, choices: Choices) -> str:
    ranks = facts["tensor_ranks"]
    within = (
        f"Keep the {ranks} ranks of a layer in one machine: what each sends depends on the batch, and hardly on "
        "their number."
    )
    if subject.goal == "latency" or len(_rows_of_layers(choices)) == 1:
        return within
    gradients = (
        " of activations (the replicas' gradients come on top)" if "training" in subject.program.workloads else ""
    )
    return (
        f"If the weights fit, split layers over {ranks // 2} ranks and make twice as many replicas: the same "
        f"number of samples then costs less than half of the bytes{gradients}, but each step takes longer. {within}"
    )
