"""Rules that are declared: the header of an SQL file says what the rule needs, claims and advises, or remarks.

Its texts are templates of Jinja, in which stand

    instances, steps_with_it, claimed_ns, claimed_share, longest_ns, saving_ns    of the claim, see diagnosis/sql/summary.sql
    occurrences             on how many slices it is: several of its pieces may be of one
    worst, pieces           the worst piece with the columns of the query, and the list of the worst
    facts, rows             the first row, and all, of the query that the header names (`facts`), or that a remark is about
    given                   the parameters of the query, with the row of that which the header has for each claim (`each`)
    steps, subject          the number of counted steps, and numbers and words of the trace; see traceq.diagnosis.subject
    program, remedy         what program it is (traceq.diagnosis.program), and what to do in it (rules/shared/remedies.toml)
    the settings of the header, by name
    ask, has, way, lacks    of the trace, see traceq.diagnosis.subject
    time, percent, bytes_in, size, short_size, gb_per_s, number, share_of, plural, cut, names, kernel_name, operator_names,
    shares, unit, step_range, padding, per_step, of_step, copies, collectives, described, overlapped, late_device, exposed,
    allocations, places, culprits, held_by, remedied, busiest, worker_work, per_fetch, workers_needed, break_advice,
    guard_advice, change, limit_reached, measured
                            which put these into words; see traceq.diagnosis.rules.shared
    | cut, | matched('a.b') filters: a name cut, and what of a text a regular expression (of DuckDB) matches; also match(...)

What is about the claim is not there in the texts that are asked before it is made: `unknown`, `absent` and `when`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import TYPE_CHECKING, Any, get_args

from traceq.common import units
from traceq.database.query import ask
from traceq.diagnosis.advice import Advice, Remark
from traceq.diagnosis.finding import Confidence
from traceq.diagnosis.needs import CannotTell, NothingThere
from traceq.diagnosis.query import rule_query
from traceq.diagnosis.rules.shared import collectives, compile_advice, kernel_reports, late_host, sentences, wording
from traceq.diagnosis.rules.shared.remedies import remedy_for
from traceq.diagnosis.rules.templates import render
from traceq.diagnosis.subject import WORTH_LISTING, Subject

if TYPE_CHECKING:
    from traceq.diagnosis.claim import Claim
    from traceq.diagnosis.query import RuleQuery

    Judgement = Callable[[Subject], Iterator[Advice | Remark]]
    Find = Callable[..., Claim | None]

# What a rule can be about: without it the rule has nothing to look at. Columns of diagnosis/sql/present.sql.
_ABOUT = {
    "communication": (("communication", "no communication ran on the GPU"),),
    "copies": (
        ("copies", "no copy ran on the GPU"),
        ("copies_asked_for", "no call requested a copy: all copies are migrations of unified memory"),
    ),
    "memsets": (("memsets", "no memset ran on the GPU"),),
}
# What templates may read of the trace. Not its connection: who has one can do all that it can.
_OF_SUBJECT = (
    *("trace_id", "rank", "world_size", "place", "format", "device", "device_name", "devices", "compute_capability"),
    *("steps", "step_ns", "is_window", "judges_idle", "goal", "present", "ledger", "ledgers"),
)
# Texts of the header that a rule says of what it found.
_TEXTS = ("fix", "confidence", "reason", "wrong-if", "heading", "key", "same-fix", "remark")
_DEFAULTS = {
    "confidence": "low",
    "reason": "Found by one of your own rules.",
    "wrong-if": "The rule does not say.",
}


def _match(subject: Subject, text: str, pattern: str) -> str:
    """Return the first part of `text` that matches the regular expression, as DuckDB finds it; "" without one."""
    query = "select coalesce(regexp_extract($text, $pattern), '') as found"
    return str(ask(subject.connection, query, text=text, pattern=pattern)[0]["found"])


# Functions for templates by name: some need nothing of the trace, others get the subject, and those of a claim that as well.
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "time": units.duration,
    "percent": units.share,
    "bytes_in": units.bytes_in,
    "short_size": units.short_size,
    "number": units.short,
    "size": wording.byte_size,
    "gb_per_s": wording.gb_per_s,
    "share_of": wording.share_of,
    "plural": wording.count_nouns,
    "words_for": wording.words_for,
    "cut": wording.cut_name,
    "names": wording.list_names,
    "shares": wording.list_shares,
    "unit": wording.name_unit,
    "step_range": wording.step_range,
    "kernel_name": wording.kernel_name,
    "operator_names": wording.operator_names,
    "padding": wording.advise_padding,
    "per_fetch": sentences.mean_fetch,
    "described": collectives.describe_collectives,
    "overlapped": collectives.describe_overlap,
    "break_advice": compile_advice.advise_break,
    "guard_advice": compile_advice.advise_guard,
    "change": compile_advice.describe_change,
    "limit_reached": lambda: compile_advice.LIMIT,
    # names up to version 0.1, which rules of users may have: to go one release later
    "figure": units.rate,
    "kernel": wording.kernel_name,
    "operators": wording.operator_names,
    "part": wording.share_of,
    "rate": wording.gb_per_s,
    "short": units.short,
}
_OF_TRACE: dict[str, Callable[..., Any]] = {
    "per_step": wording.per_step,
    "of_step": wording.of_step,
    "exposed": sentences.describe_exposed_copies,
    "allocations": sentences.describe_allocations,
    "places": sentences.describe_waits,
    "busiest": sentences.describe_fetch_work,
    "worker_work": sentences.describe_worker_work,
    "workers_needed": sentences.workers_needed,
    "late_device": collectives.describe_late_device,
    "measured": kernel_reports.write_measured,
    "ask": Subject.ask,
    "has": Subject.has,
    "way": Subject.way,
    "lacks": lambda subject, *words: str(subject.lacks(*words)),
    "match": _match,
}
_OF_CLAIM: dict[str, Callable[..., Any]] = {
    "copies": sentences.describe_copies,
    "collectives": collectives.describe_claim,
    "culprits": late_host.describe_places,
    "held_by": late_host.find_main_remedy,
    "remedied": late_host.advise_by_place,
}


def check_inputs(subject: Subject, query: RuleQuery, default: str = "") -> None:
    """Raise CannotTell or NothingThere where the trace lacks what the header needs, or what it is about."""
    kinds = query.listed("for")
    subject.only_for(*(kind for kind in kinds if kind not in ("training", "model")))
    for about in query.listed("about"):
        subject.needs("gpu", "steps")
        for column, reason in _ABOUT[about]:
            if subject.present[column]:
                continue
            if number := subject.present.get(f"{about}_as_kernels"):
                what = ("copy", "copies") if about == "copies" else ("fill", "fills")
                raise CannotTell(
                    f"{units.some(number, *what)} ran as driver kernels (__amd_rocclr_*), which count as compute"
                )
            raise NothingThere(reason)
    _check_needs(subject, query.listed("needs", default))
    # what shows a model, or its training, may be what the trace lacks
    subject.only_for(*(kind for kind in kinds if kind in ("training", "model")))


def _check_needs(subject: Subject, needs: Iterable[str]) -> None:
    """Raise CannotTell unless the trace has the inputs; of inputs with | between them one will do."""
    for need in needs:
        choice = need.split("|")
        if not any(map(subject.has, choice)):
            subject.needs(choice[-1])


def make_finder(name: str) -> Find:
    """Return a function that claims, for a subject and settings, the time that the query `name` of traceq's rules finds."""
    return lambda subject, **settings: subject.claim(name, **settings)


def make_judgement(find: Find, query: RuleQuery) -> Judgement:
    """Return the judgement that a header declares on what `find` finds, and on the claims of the queries in its `also`."""

    def judge(subject: Subject) -> Iterator[Advice]:
        check_inputs(subject, query, "gpu, steps")
        known = subject.settings(query) | trace_words(subject)
        _raise_refusals(query, known, unknown="unknown", absent="absent")
        if "when" in query.header and not render(query.header["when"], known):
            return
        also = (_advise(subject, make_finder(name), rule_query(name)) for name in query.listed("also"))
        found = [*chain.from_iterable(also), *_advise(subject, find, query)]
        if not found:
            _check_needs(subject, query.listed("rules-out"))
            _raise_refusals(query, known, unknown="unseen", absent="clean")
        yield from found

    return judge


def _advise(subject: Subject, find: Find, query: RuleQuery) -> Iterator[Advice]:
    """Yield advice, in the words of the header, on each claim that `find` makes: one, or one for each row of the query `each`."""
    if not subject.workspace.may_find(query):
        return
    for settings in subject.ask(query.header["each"], **subject.settings(query)) if "each" in query.header else [{}]:
        claim = find(subject, **settings)
        if claim is None:
            continue
        # only what `doubted` and `refuted` say of a small claim changes its outcome
        if claim.saving_ns < WORTH_LISTING * subject.step_ns and query.header.keys().isdisjoint(("doubted", "refuted")):
            yield Advice(claim, fix="", confidence="low", reason="", wrong_if="")
            continue
        known = _claim_words(subject, query, claim) | trace_words(subject)
        _raise_refusals(query, known, unknown="doubted", absent="refuted")
        texts = {**_DEFAULTS, **_render_texts(query, known)}
        yield Advice(
            claim,
            fix=texts["fix"],
            confidence=parse_confidence(texts["confidence"]),
            reason=texts["reason"],
            wrong_if=texts["wrong-if"],
            title=texts.get("heading") or None,
            key=texts.get("key", ""),
            is_rest="rest" in query.header,
            same_fix=texts.get("same-fix", ""),
            made_by=tuple(query.listed("made-by")),
        )


def make_remarks(name: str, query: RuleQuery) -> Judgement:
    """Return the judgement that a header declares on the rows of the query `name`: a remark, or one a row; none without text."""

    def judge(subject: Subject) -> Iterator[Remark]:
        check_inputs(subject, query, "gpu, steps")
        rows = subject.ask(name) if subject.workspace.may_find(query) else []
        known = subject.settings(query) | trace_words(subject)
        _raise_refusals(query, known | _name_rows(rows), unknown="unknown", absent="absent")
        for group in ([row] for row in rows) if "each" in query.header else [rows] if rows else []:
            texts = _render_texts(query, known | _name_rows(group))
            if texts["remark"]:
                yield Remark(
                    texts["remark"], name, texts["fix"], title=texts.get("heading") or None, key=texts.get("key", "")
                )

    return judge


def parse_confidence(value: str) -> Confidence:
    """Return the word if it is a confidence (high, medium, low); raise ValueError for another word."""
    for known in get_args(Confidence):
        if value == known:
            return known  # type: ignore[no-any-return]
    raise ValueError(f"confidence {value!r} is not one of {', '.join(get_args(Confidence))}")


def _raise_refusals(query: RuleQuery, known: dict[str, Any], *, unknown: str, absent: str) -> None:
    """Raise CannotTell with the header's text under the key `unknown`, or NothingThere with that under `absent`.

    Nothing is raised where the texts are missing or come out empty. `known` are the values for templates.
    """
    for key, error in ((unknown, CannotTell), (absent, NothingThere)):
        if reason := render(query.header.get(key, ""), known):
            raise error(reason)


def _render_texts(query: RuleQuery, known: dict[str, Any]) -> dict[str, str]:
    return {key: render(query.header[key], known) for key in _TEXTS if key in query.header}


def trace_words(subject: Subject) -> dict[str, Any]:
    """Return by name the functions and values of the trace that templates may use, whatever the claim."""
    return {
        **_FUNCTIONS,
        **{name: _bind(function, subject) for name, function in _OF_TRACE.items()},
        "remedy": _bind(remedy_for, subject.program),
        "subject": {name: getattr(subject, name) for name in _OF_SUBJECT},
        "steps": subject.steps,
        "program": subject.program,
    }


def _bind(function: Callable[..., Any], *given: Any) -> Callable[..., Any]:
    """Return the function with its first arguments, which a template cannot reach through it as it could through a partial."""
    return lambda *values, **named: function(*given, *values, **named)


def _claim_words(subject: Subject, query: RuleQuery, claim: Claim) -> dict[str, Any]:
    """Return by name the values and functions of a claim that templates may use."""
    return {
        **claim.values,
        **claim.row,
        # work that was launched in a step may last beyond it
        "claimed_ns": min(claim.claimed_ns, subject.step_ns),
        "claimed_share": min(float(claim.row["claimed_share"]), 1.0),
        "occurrences": claim.occurrences,
        "given": claim.values,
        "worst": claim.worst[0],
        "pieces": claim.worst,
        **{name: _bind(function, subject, claim) for name, function in _OF_CLAIM.items()},
        **(_name_rows(_ask_facts(subject, query, claim)) if "facts" in query.header else {}),
    }


def _ask_facts(subject: Subject, query: RuleQuery, claim: Claim) -> list[dict[str, Any]]:
    """Return the rows of the query that the header names: about the trace, or the claim if it reads rule_instances."""
    name = query.header["facts"]
    if "rule_instances" in rule_query(name).text:
        return subject.ask_of(claim, name)
    return subject.ask(name, **subject.settings(query))


def _name_rows(rows: list[dict[str, Any]]) -> dict[str, Any]:
    return {"rows": rows, **({"facts": rows[0]} if rows else {})}
