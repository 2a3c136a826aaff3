"""The words about other limits of batched tokens: what one would give, how that is known, and how sure it is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from traceq.common.text import printable, shortened
from traceq.common.units import count, duration, rate, share, some
from traceq.reports.document import Block, Heading, Items, Literal, Name, Paragraph, Spans, Table, Verdict
from traceq.runs.batching.limit_study import Bounded, LimitPrediction, LimitQuantity, LimitStudy
from traceq.runs.batching.step_cost import StepCost, Term

_OPTIONS = {"vllm": "--max-num-batched-tokens", "sglang": "--chunked-prefill-size", "tensorrt_llm": "max_num_tokens"}
_FILE_LIMIT = 40
_LEAST_NS = 0.001
_TERMS: dict[Term, str] = {
    "step": "",
    "prompts": " if it computes prompts",
    "prefill": " a token of prompts",
    "square": " times tokens of prompts squared",
    "attention": " a pair of a token of a prompt and one before it",
    "decode": " a decoding request",
    "kv": " a token in the cache",
}


def compose_batch_limits(found: LimitStudy) -> Iterator[Block]:
    """Yield the whole report: verdict, what one limit would give, the limits left out, and how it is known."""
    yield Heading(1, ("traceq tradeoff",))
    yield Heading(2, ("Requests by limit of batched tokens",), anchor="batched-tokens")
    known = [one for one in found.predictions if one.values]
    yield _say_verdict(found, known)
    if known:
        yield Heading(3, ("Until the first token",), anchor="first-token")
        if "ttft_p50" in known[0].values:
            yield _tabulate_limits(found, known, ("ttft_p50", "ttft_p95", "tokens_per_s"))
        else:
            yield Paragraph(
                ("Cannot tell: without a log of requests it is not known when they came (", Literal("--with"), ").")
            )
            yield _tabulate_limits(found, known, ("tokens_per_s",))
        yield Heading(3, ("Between tokens",), anchor="between-tokens")
        yield _tabulate_limits(found, known, ("gap_p50", "gap_p95", "gap_p99"))
    refused = [(f"{one.limit:,}: cannot tell; {one.reason}.",) for one in found.predictions if not one.values]
    extrapolated = [
        (f"{one.limit:,}: extrapolated, of low confidence: {one.reason}.",)
        for one in known
        if one.trust == "extrapolated"
    ]
    if extrapolated or refused:
        yield Heading(3, ("Beyond the recording",), anchor="beyond")
        yield Items((*extrapolated, *refused))
    if found.cost is not None:
        yield Heading(3, ("How it is known",), anchor="known")
        yield Items(tuple(_explain_basis(found, found.cost)))


def _say_verdict(found: LimitStudy, known: Sequence[LimitPrediction]) -> Verdict:
    """Return what to take from it: the limit within the budget, else the one with the shortest time between tokens."""
    if found.reason is not None or not known:
        way_out: tuple[Spans, ...] = ((f"What would tell: {found.way_out}.",),) if found.way_out else ()
        why = found.reason or "none of these limits can be predicted"
        return Verdict((f"Cannot tell: {why}.",), "cannot tell", lines=way_out, label="Limit")
    best, spans = _judge_budget(found, known) if found.asked.budget_ns is not None else _compare_recorded(found, known)
    beside = "low confidence" if best is not None and best.trust == "extrapolated" else ""
    return Verdict(spans, "healthy", beside=beside, label="Limit")


def _judge_budget(found: LimitStudy, known: Sequence[LimitPrediction]) -> tuple[LimitPrediction | None, Spans]:
    """Return the largest limit that keeps the budget, by its upper bound or at least by its value, and a sentence on it."""
    quantity: LimitQuantity = f"gap_{found.asked.percentile}"  # type: ignore[assignment]
    budget = found.asked.budget_ns or 0
    told = f"{found.asked.percentile} of the time between tokens within {duration(budget)}"
    for is_sure in (True, False):
        fits = [
            one for one in known if (one.values[quantity].high if is_sure else one.values[quantity].value) <= budget
        ]
        if fits:
            best = max(fits, key=lambda one: one.limit)
            value = _format_bounded(quantity, best.values[quantity])
            how = "keeps" if is_sure else "may keep"
            return best, (f"{best.limit:,} is the largest of these limits that {how} the {told}: {value}.",)
    return None, (f"None of these limits keeps the {told}.",)


def _compare_recorded(found: LimitStudy, known: Sequence[LimitPrediction]) -> tuple[LimitPrediction | None, Spans]:
    """Return the limit with the shortest p95 between tokens, and its change of the recorded one."""
    recorded = {one.quantity: one.recorded for one in found.replay}
    before = recorded["gap_p95"]
    shorter = [one for one in known if one.values["gap_p95"].high < before]
    if not shorter:
        now = f"p95 {duration(round(before))} as recorded"
        return None, (f"None of these limits surely shortens the time between tokens, {now}.",)
    best = min(shorter, key=lambda one: one.values["gap_p95"].value)
    gap = best.values["gap_p95"]
    text = f"At {best.limit:,} tokens p95 between tokens is {_format_bounded('gap_p95', gap)}, as recorded"
    text += f" {duration(round(before))}."
    if "ttft_p95" in best.values:
        first = _format_bounded("ttft_p95", best.values["ttft_p95"])
        text += f" p95 to the first token is {first}, as recorded {duration(round(recorded['ttft_p95']))}."
    return best, (text,)


_TITLES: dict[LimitQuantity, str] = {
    "ttft_p50": "p50",
    "ttft_p95": "p95",
    "gap_p50": "p50",
    "gap_p95": "p95",
    "gap_p99": "p99",
    "tokens_per_s": "output tokens/s",
}


def _tabulate_limits(found: LimitStudy, known: Sequence[LimitPrediction], quantities: Sequence[LimitQuantity]) -> Table:
    """Return a table of these quantities: as recorded, and at one limit with its bounds."""
    # the recorded throughput is that of the captured steps, not of all requests
    recorded: dict[LimitQuantity, float] = {
        one.quantity: one.recorded for one in found.replay if one.quantity != "tokens_per_s"
    }
    first = ("recorded", *(_format_recorded(quantity, recorded.get(quantity)) for quantity in quantities))
    rows = [
        (
            f"{one.limit:,}{' *' if one.trust == 'extrapolated' else ''}",
            *(_format_bounded(quantity, one.values[quantity]) for quantity in quantities),
        )
        for one in known
    ]
    return Table(("limit", *(_TITLES[quantity] for quantity in quantities)), (first, *rows))


def _format_value(quantity: LimitQuantity, value: float) -> str:
    return rate(value) if quantity == "tokens_per_s" else duration(round(value))


def _format_recorded(quantity: LimitQuantity, value: float | None) -> str:
    return "-" if value is None else _format_value(quantity, value)


def _format_bounded(quantity: LimitQuantity, found: Bounded) -> str:
    """Return the value with its bounds, as "31.2 ms (28.1 to 35.0)"; units of the bounds only where they differ."""
    value, low, high = (_format_value(quantity, one) for one in (found.value, found.low, found.high))
    unit = value.partition(" ")[2]
    if unit and all(text.endswith(f" {unit}") for text in (low, high)):
        low, high = low.removesuffix(f" {unit}"), high.removesuffix(f" {unit}")
    return f"{value} ({low} to {high})"


def _explain_basis(found: LimitStudy, cost: StepCost) -> Iterator[Spans]:
    """Yield what the predictions rest on: the recorded limit, the fit, the requests, the scheduler and its check."""
    option = _OPTIONS.get(found.dialect or "")
    limit = count(found.recorded_limit)
    if found.is_filled:
        yield ("Recorded limit: ", *((Literal(option), " ") if option else ()), f"{limit}, which several steps fill.")
    elif found.recorded_limit is not None:
        yield (
            f"The recorded limit is not known: no size of step comes several times; the largest has {limit} tokens.",
        )
    parts = [
        f"{duration(per)}{_TERMS[term]}"
        + (f" beyond {cost.free_tokens:,}" if term == "prefill" and cost.free_tokens else "")
        for term, per in zip(cost.terms, cost.per_unit, strict=True)
        if per >= _LEAST_NS
    ]
    missed = f"a fit to the others misses steps by {share(cost.left_out_error)}"
    yield (f"A step takes {' + '.join(parts)}, by {some(found.fitted_steps, 'step')}; {missed}.",)
    if found.requests:
        yield _describe_requests(found)
        how = (
            "next tokens first, then chunks of prompts" if found.mixes else "prompts first, next tokens in other steps"
        )
        slots = f"at most {found.slots:,} requests at a time" if found.slots else "any number of requests at a time"
        yield (f"Scheduled first come first served, {how}, {slots}.",)
    if found.replay:
        worst = max(found.replay, key=lambda one: one.replay_factor)
        missed = f"the {worst.quantity_words} is {share(worst.replay_factor - 1)} off what was recorded, at most"
        yield (f"Scheduled anew at the recorded limit, {missed}; bounds are wider by as much.",)


def _describe_requests(found: LimitStudy) -> Spans:
    """Return whose requests were scheduled, and how many of the log could not be."""
    if found.log_file is None:
        return (
            f"{some(found.requests, 'request')} inferred from the steps: when they came and how long they are is not known.",
        )
    left_out = f"; {some(found.other_requests, 'request')} of it left out" if found.other_requests else ""
    file = Name(shortened(printable(found.log_file), _FILE_LIMIT))
    return (f"{some(found.requests, 'request')} of ", file, f", which come when they came{left_out}.")
