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
    time, percent, bytes_in, size, short_size, rate, short, figure, part, plural, cut, names, kernel, operators, shares, unit,
    step_range, padding, per_step, of_step, copies, collectives, described, overlapped, late_device, exposed,
    allocations, places, culprits, held_by, remedied, busiest, per_fetch, workers_needed
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
from traceq.diagnosis.rules.shared import (
    allocations,
    collectives,
    copies,
    exposed_copies,
    host_waits,
    inputs,
    kernels,
    late_host,
    wording,
)
from traceq.diagnosis.rules.shared.remedies import remedy
from traceq.diagnosis.rules.templates import rendered

if TYPE_CHECKING:
    from traceq.database.query import Setting
    from traceq.diagnosis.claim import Claim
    from traceq.diagnosis.query import Query
    from traceq.diagnosis.subject import Subject

    Judgement = Callable[[Subject], Iterator[Advice | Remark]]
    Find = Callable[..., Claim | None]

# What a rule can be about: without it the rule has nothing to look at. Columns of diagnosis/sql/present.sql.
_ABOUT = {
    "communication": (("communication", "no communication ran on the GPU"),),
    "copies": (
        ("copies", "no copy ran on the GPU"),
        ("copies_asked_for", "no call asked for a copy: all are migrations of unified memory"),
    ),
    "memsets": (("memsets", "no memset ran on the GPU"),),
}


def check_inputs(subject: Subject, query: Query, default: str = "") -> None:
    """Raise CannotTell or NothingThere where the trace lacks what the header needs, or what it is about."""
    whom = query.listed("for")
    subject.only_for(*(each for each in whom if each not in ("training", "model")))
    for about in query.listed("about"):
        subject.needs("gpu", "steps")
        for column, reason in _ABOUT[about]:
            if not subject.present[column]:
                _refuse_kernels(subject, about)
                raise NothingThere(reason)
    _check_needs(subject, query.listed("needs", default))
    # what shows a model, or its training, may be what the trace lacks
    subject.only_for(*(each for each in whom if each in ("training", "model")))


def _refuse_kernels(subject: Subject, about: str) -> None:
    """Raise CannotTell where the driver ran what the rule is about as kernels, of which no more is known."""
    if number := subject.present.get(f"{about}_as_kernels"):
        what = {"copies": "copy", "memsets": "fill"}[about]
        raise CannotTell(
            f"{units.some(number, what, 'copies' if what == 'copy' else 'fills')} ran as kernels of the driver"
            " (__amd_rocclr_*), which count as compute"
        )


def _check_needs(subject: Subject, needs: Iterable[str]) -> None:
    """Raise CannotTell unless the trace has the inputs; of inputs with | between them one will do."""
    for need in needs:
        choice = need.split("|")
        if not any(map(subject.has, choice)):
            subject.needs(choice[-1])


def claimed_by(name: str) -> Find:
    """Finds what the query `name` of traceq's rules claims."""

    def find(subject: Subject, **settings: Setting) -> Claim | None:
        return subject.claim(name, **settings)

    return find


def declared(find: Find, query: Query) -> Judgement:
    """The judgement that a header declares on what `find` finds, and on what those find that it names beside (`also`)."""

    def judge(subject: Subject) -> Iterator[Advice]:
        check_inputs(subject, query, "gpu, steps")
        known = subject.settings(query) | _of_trace(subject)
        _refuse(query, known, unknown="unknown", absent="absent")
        if "when" in query.header and not rendered(query.header["when"], known):
            return
        also = (_advised(subject, claimed_by(name), rule_query(name)) for name in query.listed("also"))
        found = [*chain.from_iterable(also), *_advised(subject, find, query)]
        if not found:
            _check_needs(subject, query.listed("rules-out"))
            _refuse(query, known, unknown="unseen", absent="clean")
        yield from found

    return judge


def _advised(subject: Subject, find: Find, query: Query) -> Iterator[Advice]:
    """Advice on each claim that `find` makes, in the words of the header."""
    if not subject.workspace.may_find(query):
        return
    for settings in subject.ask(query.header["each"], **subject.settings(query)) if "each" in query.header else [{}]:
        claim = find(subject, **settings)
        if claim is None:
            continue
        known = _of_claim(subject, query, claim) | _of_trace(subject)
        _refuse(query, known, unknown="doubted", absent="refuted")
        texts = {**_DEFAULTS, **_rendered(query, known)}
        yield Advice(
            claim,
            fix=texts["fix"],
            confidence=confidence(texts["confidence"]),
            reason=texts["reason"],
            wrong_if=texts["wrong-if"],
            title=texts.get("heading") or None,
            key=texts.get("key", ""),
            is_rest="rest" in query.header,
            same_fix=texts.get("same-fix", ""),
            made_by=tuple(query.listed("made-by")),
        )


def remarked(name: str, query: Query) -> Judgement:
    """The judgement that a header declares on the rows of the query `name`: a remark, or one a row; none without a text."""

    def judge(subject: Subject) -> Iterator[Remark]:
        check_inputs(subject, query, "gpu, steps")
        rows = subject.ask(name) if subject.workspace.may_find(query) else []
        known = subject.settings(query) | _of_trace(subject)
        _refuse(query, known | _facts(rows), unknown="unknown", absent="absent")
        for told in ([row] for row in rows) if "each" in query.header else [rows] if rows else []:
            texts = _rendered(query, known | _facts(told))
            if texts["remark"]:
                yield Remark(
                    texts["remark"], name, texts["fix"], title=texts.get("heading") or None, key=texts.get("key", "")
                )

    return judge


# What texts are told of the trace. Not its connection: who has one can do all that it can.
_TOLD = (
    *("trace_id", "rank", "world_size", "place", "format", "device", "device_name", "devices", "compute_capability"),
    *("steps", "step_ns", "is_window", "judges_idle", "goal", "present", "ledger", "ledgers"),
)

# Texts of the header that a rule says of what it found.
_SAID = ("fix", "confidence", "reason", "wrong-if", "heading", "key", "same-fix", "remark")
_DEFAULTS = {
    "confidence": "low",
    "reason": "Found by a rule of your own.",
    "wrong-if": "Not said by the rule.",
}


def confidence(value: str) -> Confidence:
    """The confidence of that name; ValueError for none."""
    for known in get_args(Confidence):
        if value == known:
            return known  # type: ignore[no-any-return]
    raise ValueError(f"confidence {value!r}; it is one of {', '.join(get_args(Confidence))}")


def _refuse(query: Query, known: dict[str, Any], *, unknown: str, absent: str) -> None:
    """Raise CannotTell, or NothingThere, where the texts of these keys say why."""
    for key, error in ((unknown, CannotTell), (absent, NothingThere)):
        if reason := rendered(query.header.get(key, ""), known):
            raise error(reason)


def _rendered(query: Query, known: dict[str, Any]) -> dict[str, str]:
    return {key: rendered(query.header[key], known) for key in _SAID if key in query.header}


def _of_trace(subject: Subject) -> dict[str, Any]:
    return {
        "subject": {name: getattr(subject, name) for name in _TOLD},
        "steps": subject.steps,
        **_answers(subject),
        "time": units.duration,
        "percent": units.share,
        "bytes_in": units.bytes_in,
        "short_size": units.short_size,
        "short": units.short,
        "figure": units.rate,
        "size": collectives.size,
        "rate": copies.rate,
        "part": wording.part,
        "plural": wording.plural,
        "words_for": wording.words_for,
        "cut": wording.cut,
        "names": wording.names,
        "shares": wording.shares,
        "unit": wording.unit,
        "step_range": wording.step_range,
        "kernel": kernels.short,
        "operators": kernels.names,
        "padding": kernels.padding,
        "program": subject.program,
        "remedy": _of(remedy, subject.program),
        "per_step": _of(wording.per_step, subject),
        "of_step": _of(wording.of_step, subject),
        "exposed": _of(exposed_copies.described, subject),
        "allocations": _of(allocations.described, subject),
        "places": _of(host_waits.described, subject),
        "busiest": _of(inputs.busiest, subject),
        "per_fetch": inputs.per_fetch,
        "workers_needed": inputs.workers_needed,
        "described": collectives.described,
        "overlapped": collectives.overlapped,
        "late_device": _of(collectives.late_device, subject),
    }


def _answers(subject: Subject) -> dict[str, Callable[..., Any]]:
    """What asks the trace. Functions, for of a method its object can be had."""

    def match(text: str, pattern: str) -> str:
        found = ask(
            subject.connection, "select coalesce(regexp_extract($text, $pattern), '')", text=text, pattern=pattern
        )
        return str(*found[0].values())

    return {
        "match": match,
        "ask": _of(subject.ask),
        "has": _of(subject.has),
        "way": _of(subject.way),
        "lacks": lambda *words: str(subject.lacks(*words)),
    }


def _of(function: Callable[..., Any], *given: Any) -> Callable[..., Any]:
    """The function of what is given, which cannot be had of it, as it could of a partial."""
    return lambda *values, **named: function(*given, *values, **named)


def _of_claim(subject: Subject, query: Query, claim: Claim) -> dict[str, Any]:
    pieces = subject.worst(claim)
    return {
        **claim.values,
        **claim.row,
        # work that was launched in a step may last beyond it
        "claimed_ns": min(claim.claimed_ns, subject.step_ns),
        "claimed_share": min(float(claim.row["claimed_share"]), 1.0),
        "occurrences": subject.occurrences(claim),
        "given": claim.values,
        "worst": pieces[0],
        "pieces": pieces,
        "copies": _of(copies.described, subject, claim),
        "collectives": _of(collectives.of_claim, subject, claim),
        "culprits": _of(late_host.described, subject, claim),
        "held_by": _of(late_host.held_by, subject, claim),
        "remedied": _of(late_host.remedied, subject, claim),
        **(_facts(_asked(subject, query, claim)) if "facts" in query.header else {}),
    }


def _asked(subject: Subject, query: Query, claim: Claim) -> list[dict[str, Any]]:
    """The rows of the query that the header names: about the trace, or about the claim if it reads rule_instances."""
    name = query.header["facts"]
    if "rule_instances" in rule_query(name).text:
        return subject.ask_of(claim, name)
    return subject.ask(name, **subject.settings(query))


def _facts(rows: list[dict[str, Any]]) -> dict[str, Any]:
    return {"rows": rows, **({"facts": rows[0]} if rows else {})}
