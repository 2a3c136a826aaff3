"""traceq estimate: what an operator costs on a GPU, without a trace."""

from __future__ import annotations

from pathlib import Path

import click

from traceq.cli import completion
from traceq.cli._options import document_options
from traceq.cli._output import write_view


@click.command("estimate", short_help="Say what an operator costs on a GPU, without a trace.")
@click.argument("operator", metavar="OP", shell_complete=completion.complete_operators)
@click.argument("shape", metavar="SHAPE...", nargs=-1, required=True)
@click.option(
    "--gpu", required=True, metavar="NAME", shell_complete=completion.complete_gpus, help="As H100, or A100 80GB."
)
@click.option(
    "--dtype",
    default="bf16",
    show_default=True,
    metavar="TYPE",
    shell_complete=completion.complete_dtypes,
    help="Of all tensors: fp64, fp32, tf32, fp16, bf16, fp8, int8.",
)
@click.option("--backward", is_flag=True, help="The backward pass: all gradients.")
@click.option("--causal", is_flag=True, help="Attention under a causal mask.")
@click.option("--ranks", type=click.IntRange(min=2), metavar="N", help="Ranks of a collective.")
@click.option(
    "--link",
    type=click.FloatRange(min=0, min_open=True),
    metavar="GB/S",
    help="What joins them, per rank and direction [default: the GPU's own link, of up to 8 ranks].",
)
@document_options()
def estimate_operator(
    *,
    operator: str,
    shape: tuple[str, ...],
    gpu: str,
    dtype: str,
    backward: bool,
    causal: bool,
    ranks: int | None,
    link: float | None,
    output: Path | None,
    format_: str,
) -> None:
    """Say what an operator costs on a GPU: operations, bytes, what limits it, and how long it takes, at the least and usually.

    OP is matmul, linear, attention, conv, norm, elementwise, embedding, optimizer, all_reduce, all_gather,
    reduce_scatter, all_to_all or broadcast. By the formulas of operator_cost, which a trace is judged by.

    \b
    Examples:
      traceq estimate matmul 8192x8192x8192 --gpu H100          # m x n x k
      traceq estimate linear 16x4096 4096x11008 --gpu A100
      traceq estimate attention b=1,h=32,s=4096,d=128 --causal --backward --gpu H100
      traceq estimate conv 32x64x56x56 128x64x3x3 stride=1,padding=1 --gpu V100 --dtype fp16
      traceq estimate optimizer adam 7e9 --gpu H200 --dtype fp32
      traceq estimate all_reduce 1GiB --ranks 8 --gpu H100
    """  # noqa: D301 - click wants the backspace itself
    from traceq.app.estimate import estimate_operator as work
    from traceq.app.estimate_request import EstimateChoices

    choices = EstimateChoices(dtype=dtype, backward=backward, causal=causal, ranks=ranks, link=link)
    write_view(work(operator, shape, gpu, choices), format_, output)
