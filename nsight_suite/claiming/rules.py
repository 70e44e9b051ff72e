"""Statements that the rules of inference forbid, told by what a number is and by the words around it.

A rule looks at one bound number and its sentence. It speaks only when the number was had in the way that the
rule is about, the words say what may not be concluded, and the same clause does not deny it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from nsight_suite.claiming import origins
from nsight_suite.claiming.checking import Problem
from nsight_suite.claiming.claims import Claim
from nsight_suite.claiming.comparing import comparable, comparing_word
from nsight_suite.claiming.origins import is_spread
from nsight_suite.claiming.values import Value
from nsight_suite.claiming.words import NEGATION, clause_around, sentence_around
from nsight_suite.errors import ForbiddenInference
from nsight_suite.reconciliation.inference import RULES, Measured, attribute


@dataclass(frozen=True)
class ProseRule:
    """`says` must not be said of what it is `about`, unless the sentence has `told` how that was had."""

    code: str
    about: Callable[[Claim], bool]
    says: re.Pattern[str]
    told: re.Pattern[str] | None = None


def _words(*phrases: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w)(?:{'|'.join(phrases)})(?!\w)", re.IGNORECASE)


def _any(test: Callable[[Measured], bool]) -> Callable[[Claim], bool]:
    return lambda claim: any(test(one) for one in claim.value.measured)


def _had_by(*methods: str) -> Callable[[Claim], bool]:
    return _any(lambda one: one.method in methods)


def _quantile(claim: Claim) -> bool:
    return bool(claim.value.columns) and any(is_spread(column) for column in claim.value.columns)


def _compares_times(claim: Claim) -> bool:
    """Whether it compares unprofiled completions of two cases that differ in more than one thing."""
    if not claim.value.pair or not any(
        one.method in (origins.HOST, origins.PAIRED) for one in claim.value.measured
    ):
        return False
    first, second = claim.value.pair
    try:
        attribute(
            Measured(1, "ns", origins.HOST, case_id=first.case_id, traits=first.traits),
            Measured(1, "ns", origins.HOST, case_id=second.case_id, traits=second.traits),
        )
    except ForbiddenInference:
        return True
    return False


_KERNEL_TIME = (
    r"kernel (?:time|duration|run ?time|execution time|latency)s?",
    r"duration of (?:the|a|one|its) (?:\w+ )?kernels?",
    r"kernels? (?:itself |alone )?(?:runs?|takes?|lasts?|needs?|executes?)",
    r"(?:device|GPU) time|time on the (?:GPU|device)",
    r"(?:GPU|device) (?:is busy|works|takes|needs)",
)
_LATENCY = (
    r"latency|latencies|completion|response time|end[- ]to[- ]end",
    r"completes? in|finish(?:es)? in|returns? (?:in|after)|an? (?:call|invocation) takes",
)
_PROFILED = (
    r"under (?:nsys|ncu|a profiler|the profiler|Nsight \w+|profiling)",
    r"profil\w+|instrumented|traced?|overhead|nsys|ncu",
)
_CAUSE = (
    r"because(?: of)?|due to|thanks to|owing to|caused by|comes? from|stems? from|results? from|on account of",
    r"(?:is|are) (?:explained by|the (?:reason|cause))|attribut(?:ed|able) to|accounts? for|buys|pays off",
    r"which saves|by (?:saving|keeping|avoiding|eliminating)|explains?|responsible for|makes? the difference",
    r"owes|driven by",
    r"(?:shows?|proves?|demonstrates?|confirms?|means?) [\w ,-]{0,60}?(?:launch\w*|traffic|registers?|overhead|"
    r"intermediates?|caching|locality)",
    r"(?:launch(?:es|ing)?|overhead|traffic|intermediates?) (?:alone )?costs?",
    r"the (?:main |only |simple )?reasons?(?: for (?:this|that|it))?(?:\s*:| is| was)(?= )",
    r"(?:as|since) (?:it|they|[\w:-]+|the \w+ (?:variant|kernel)) (?:only )?(?:moves?|reads?|writes?|has|have|"
    r"launch(?:es)?|stores?|loads?|touch(?:es)?|needs?|uses?) (?:fewer|less|no|only|half)",
    r"(?:fewer|less|saved|avoided|no) [\w -]{1,40}? (?:makes?|made|gives?|yields?|brings?|saves?)",
)
_FLUSHED = _any(lambda one: one.method == origins.DRAM and one.caches == "flushed")
_KERNEL_WRITES = _any(lambda one: one.method == origins.DRAM and one.scope in ("kernel", "kernel-sum"))

# Columns that hold completions, under a profiler too.
_COMPLETIONS = frozenset({"profiled_ns", "completion_ns"})

PROSE_RULES = (
    ProseRule(
        "flushed-is-not-warm",
        _FLUSHED,
        _words(
            r"warm(?:ed)? (?:DRAM |memory |cache )?(?:bandwidth|throughput|traffic|reads|bytes|loop)",
            r"(?:in|with|from) warm caches?",
        ),
    ),
    ProseRule(
        "flushed-is-not-warm",
        _FLUSHED,
        _words(
            r"steady[- ]state|sustained|(?:DRAM|memory|HBM\d?e?) (?:bandwidth|throughput)",
            r"(?:a|its) (?:bandwidth|throughput)|(?:bandwidth|throughput) of",
        ),
        told=_words(r"flush\w*|cold[- ]cache|cold caches"),
    ),
    ProseRule(
        "logical-is-not-dram",
        _had_by(origins.DECLARED, origins.RATE),
        _words(
            r"DRAM|HBM\d?e?|memory traffic|bandwidth|throughput",
            r"(?:read|written|fetched|loaded) from memory",
        ),
        told=_words(r"logical\w*|declared|must (?:read|write|move)|need\w* to|at least|minim\w+|copy"),
    ),
    ProseRule(
        "writes-left-in-cache",
        lambda claim: any("write" in column for column in claim.value.columns) and _KERNEL_WRITES(claim),
        _words(
            r"all (?:of )?(?:its |the )?writes|everything (?:that )?it writes|total(?:ly)? (?:writes|written)",
            r"writes? (?:only|just|a total of)|in total|altogether|overall",
        ),
    ),
    ProseRule(
        "no-node-times",
        _any(lambda one: one.scope == "whole-graph"),
        _words(r"(?:each|per|one|a single|every|the (?:first|second|third|last)) (?:kernel|node)"),
    ),
    ProseRule("event-intervals-hold-gaps", _had_by(origins.EVENTS), _words(*_KERNEL_TIME)),
    ProseRule(
        "completion-is-no-kernel-time",
        _had_by(origins.HOST),
        _words(*_KERNEL_TIME),
        told=_words(r"launch\w*|host|completion\w*|synchroni\w+"),
    ),
    ProseRule("times-have-no-single-cause", _compares_times, _words(*_CAUSE)),
    ProseRule(
        "early-start-is-no-speedup",
        _had_by(origins.EARLY),
        _words(
            r"faster|speed-?ups?|sped up|gain(?:s|ed)?|sav(?:es?|ed|ing)|quicker|performance|hid(?:es|den|ing)"
        ),
    ),
    ProseRule(
        "limits-are-not-utilisation",
        _had_by(origins.LIMIT),
        _words(
            r"utili[sz](?:ation|ed|es?)|busy|in use|(?:is|are|was|were|fully|well) (?:used|occupied|loaded)",
            r"saturat(?:es?|ed)|occupied|keeps? the (?:GPU|SMs?|multiprocessors?)|(?:are|were|is) resident",
            r"achieved",
        ),
        told=_words(r"can (?:hold|be)|could|fit|room for|at most|limits?|up to|capacity|allows?|theoretical"),
    ),
    ProseRule(
        "quantiles-are-not-confidence",
        _quantile,
        _words(
            r"confiden(?:ce|t)|significan(?:t|ce|tly)|error bars?|margin of error|standard errors?",
            r"uncertainty|CI|credible interval|±",
        ),
    ),
    ProseRule(
        "ncu-time-is-its-own",
        _had_by(origins.NCU),
        _words(*_LATENCY, r"host|stopwatch|real(?:ly)? takes?|in production"),
    ),
    ProseRule(
        "ncu-time-is-its-own",
        _had_by(origins.NCU),
        _words(*_KERNEL_TIME),
        told=_words(r"under ncu|ncu|Nsight Compute|flush\w*|replay\w*|serialis\w+"),
    ),
    ProseRule(
        "profiled-is-no-latency",
        _had_by(origins.PROFILED, origins.TRACE),
        _words(*_LATENCY),
        told=_words(*_PROFILED),
    ),
    ProseRule(
        "profiled-is-no-latency",
        lambda claim: not _COMPLETIONS.isdisjoint(claim.value.columns) and _had_by(origins.PROFILED)(claim),
        _words(r"takes?|took|needs?|needed|runs? in|ran in|waits?|time|median"),
        told=_words(*_PROFILED),
    ),
)


def check_prose(
    claims: Sequence[Claim], refused: Collection[tuple[str, int]] = ()
) -> Iterator[tuple[Claim, Problem]]:
    """What the sentences of one block say of their bound numbers and may not; each rule once for a sentence.

    `refused` are (code, start of the sentence) of rules that a binding in it has already met.
    """
    said = set(refused)
    for claim in claims:
        start, _ = sentence_around(claim.block.text, claim.start)
        context = _context(claim, claims)
        for rule in PROSE_RULES:
            if (rule.code, start) in said or not rule.about(claim):
                continue
            if (phrase := _said(rule, context)) is not None:
                said.add((rule.code, start))
                yield claim, forbidden(rule.code, f"The sentence says '{phrase}' of {_had(claim)}.")
    yield from _two_devices(claims)


def refuse_unusable(value: Value) -> None:
    """Refuse what nothing can be said of: how long a kernel took under ncu with caches that were not flushed.

    Raises ForbiddenInference.
    """
    if any(one.method == origins.NCU and one.caches == "warm" for one in value.measured):
        rule = RULES["ncu-time-is-its-own"]
        raise ForbiddenInference(
            rule.code,
            f"{rule.sentence} With caches that are not flushed its time holds some 200 µs of its own "
            "before the kernel.",
            rule.way_out,
        )


# A sentence without a number of its own that goes on about the one before.
_GOES_ON = re.compile(
    r"\s*(?:this|that|these|those|it|its|they|which|because|so|hence|thus|here|"
    r"the (?:reason|cause|gain|difference|speed-?up|factor|improvement|saving))\b",
    re.IGNORECASE,
)


def _context(claim: Claim, claims: Sequence[Claim]) -> str:
    """The words about a number: its sentence up to a semicolon, and the next where that goes on about it.

    In a table these are the header of its column and its cell.
    """
    text = claim.block.text
    if claim.block.kind == "cell":
        return f"{claim.block.header}: {text}"
    start, end = sentence_around(text, claim.start)
    start = text.rfind(";", start, claim.start) + 1 or start
    cut = text.find(";", claim.end, end)
    context = text[start : cut if cut >= 0 else end]
    following = sentence_around(text, end + 1) if cut < 0 and end + 1 < len(text) else (end, end)
    is_own = not any(following[0] <= other.start < following[1] for other in claims)
    if is_own and _GOES_ON.match(text[following[0] : following[1]]):
        context += text[end : following[1]]
    return context


def _said(rule: ProseRule, context: str) -> str | None:
    """The forbidden words of a context; None where they are missing, denied, or told for what they are."""
    if rule.told and rule.told.search(context):
        return None
    for match in rule.says.finditer(context):
        if not NEGATION.search(clause_around(context, match.start())):
            return match[0].strip()
    return None


def _two_devices(claims: Sequence[Claim]) -> Iterator[tuple[Claim, Problem]]:
    """Numbers of two GPUs that a sentence compares."""
    for one, other in pairwise(claims):
        if not comparable(one, other) or not comparing_word(one, other):
            continue
        devices = {measured.device_uuid for claim in (one, other) for measured in claim.value.measured} - {""}
        if len(devices) > 1:
            yield other, forbidden("other-device", "The numbers are of two GPUs.")


def forbidden(code: str, because: str) -> Problem:
    """The problem that a rule of inference names."""
    return Problem(code, f"{RULES[code].sentence} {because}", RULES[code].way_out)


def _had(claim: Claim) -> str:
    methods = list(dict.fromkeys(one.method for one in claim.value.measured if one.method))
    caches = {one.caches for one in claim.value.measured if one.caches}
    return f"{claim.text.strip()}, had by {', '.join(methods) or 'a quantile'}" + (
        f" with {caches.pop()} caches" if caches else ""
    )
