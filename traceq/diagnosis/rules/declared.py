"""Rules that are declared: the header of an SQL file says what the rule needs, claims and advises.

Its texts are templates of Jinja, in which stand

    instances, steps_with_it, claimed_ns, claimed_share, longest_ns    of the claim, see diagnosis/sql/summary.sql
    worst, pieces           the worst piece with the columns of the query, and the list of the worst
    steps, subject          the number of counted steps, and the trace; see traceq.diagnosis.subject
    the settings of the header, by name
    time, percent, size, rate, plural, cut, names, kernel, operators, per_step, of_step, copies, collectives
                            which put these into words
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cache, partial
from typing import TYPE_CHECKING, Any, get_args

from traceq.diagnosis.advice import Advice, Remark
from traceq.diagnosis.finding import Confidence
from traceq.diagnosis.needs import NothingThere
from traceq.diagnosis.rules.shared import collectives, copies, kernels, wording

if TYPE_CHECKING:
    from jinja2 import Environment

    from traceq.diagnosis.claim import Claim
    from traceq.diagnosis.query import Query
    from traceq.diagnosis.subject import Subject

    Judgement = Callable[[Subject], Iterator[Advice | Remark]]
    Words = Callable[[Subject, Claim], dict[str, Any]]

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
    for about in query.listed("about"):
        subject.needs("gpu", "steps")
        for column, reason in _ABOUT[about]:
            if not subject.present[column]:
                raise NothingThere(reason)
    _check_needs(subject, query.listed("needs", default))


def _check_needs(subject: Subject, needs: Iterable[str]) -> None:
    """Raise CannotTell unless the trace has the inputs; of inputs with | between them one will do."""
    for need in needs:
        choice = need.split("|")
        if not any(map(subject.has, choice)):
            subject.needs(choice[-1])


def declared(find: Callable[[Subject], Claim | None], query: Query, words: Words | None = None) -> Judgement:
    """The judgement that a header declares on what `find` finds; `words` gives texts for its keys that only code can find."""

    def judge(subject: Subject) -> Iterator[Advice]:
        check_inputs(subject, query, "gpu, steps")
        claim = find(subject)
        if claim is None:
            _check_needs(subject, query.listed("rules-out"))
            return
        texts: dict[str, Any] = words(subject, claim) if words else {}
        for key in ("fix", "confidence", "reason", "wrong-if"):
            texts.setdefault(key, _rendered(query.header.get(key, _DEFAULTS.get(key, "")), subject, claim))
        yield Advice(
            claim,
            fix=texts["fix"],
            confidence=confidence(texts["confidence"]),
            reason=texts["reason"],
            wrong_if=texts["wrong-if"],
            title=texts.get("title"),
            is_rest="rest" in query.header,
        )

    return judge


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


def _rendered(text: str, subject: Subject, claim: Claim) -> str:
    if not is_template(text):
        return text
    pieces = subject.worst(claim)
    known = {
        **claim.values,
        **claim.row,
        "worst": pieces[0],
        "pieces": pieces,
        "subject": subject,
        "steps": subject.steps,
        "time": wording.time,
        "percent": wording.percent,
        "size": collectives.size,
        "rate": copies.rate,
        "plural": wording.plural,
        "cut": wording.cut,
        "names": wording.names,
        "kernel": kernels.short,
        "operators": kernels.names,
        "per_step": partial(wording.per_step, subject),
        "of_step": partial(wording.of_step, subject),
        "copies": partial(copies.described, subject, claim),
        "collectives": partial(collectives.of_claim, subject, claim),
    }
    return _environment().from_string(text).render(known)


def is_template(text: str) -> bool:
    """Whether the text of a header depends on the trace."""
    return "{{" in text or "{%" in text


@cache
def _environment() -> Environment:
    from jinja2 import StrictUndefined
    from jinja2.sandbox import SandboxedEnvironment

    return SandboxedEnvironment(undefined=StrictUndefined, autoescape=False)


def template_error(text: str) -> str | None:
    """What is wrong with a template, None for nothing."""
    from jinja2 import TemplateSyntaxError

    try:
        _environment().parse(text)
    except TemplateSyntaxError as error:
        return f"{error.message} in {text!r}"
    return None
