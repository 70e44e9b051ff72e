"""Digits in a text that claim nothing: dates, versions, labels, shapes, names; docs/claims.md lists them."""

from __future__ import annotations

import re
from dataclasses import dataclass

from nsight_suite.claiming.numbers import SPACES, UNIT_NAMES, Span

_MONTH = (
    "(?:January|February|March|April|May|June|July|August|September|October|November|December|"
    "Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec)\\.?"
)
_YEAR = r"(?:19[5-9]|20[0-4])\d"
# Before one label; with an s, before several.
_BEFORE_A_LABEL = (
    "Figure|Table|Section|Chapter|Equation|Listing|Step|Note|Footnote|Page|Line|Algorithm|Theorem|Lemma|Level|"
    "Corollary|Proposition|Definition|Example|GPU|SM|Device|Session|Round|Phase|Issue|PR"
)
_BEFORE_ONE_LABEL = (
    "Fig\\.|Sec\\.|Eq\\.|Appendix|Part|p\\.|Ch\\.|Volume|Vol\\.|No\\.|RFC|ISO|IEC|IEEE|RTX|GTX|Xeon|EPYC|Ryzen"
)
_BEFORE_LABELS = f"(?:{_BEFORE_A_LABEL})s|Figs\\.|Eqs\\.|pp\\."
_BEFORE_A_VERSION = (
    "versions?|release|v\\.|driver|CUDA|cuDNN|cuBLAS|CuPy|CUPTI|Python|NumPy|PyTorch|JAX|Triton|DuckDB|LLVM|GCC|"
    "gcc|Clang|clang|nsys|ncu|nsight-python|NVRTC|nvcc|NVTX|PTX|Nsight Systems|Nsight Compute|"
    "compute capability|cc|PTX ISA|SDK|ROCm|MPI|OpenMPI|NCCL|CUTLASS|TensorRT|glibc|"
    "Linux|Ubuntu|Debian|kernel version|C\\+\\+|SARIF|Unicode|HBM|PCIe|NVLink|Gen"
)
_UNITLESS = rf"(?![\w%]|\.\d|[{SPACES}\-]?(?:{UNIT_NAMES})(?![\w/]))"


@dataclass(frozen=True)
class NoClaim:
    """A kind of digits that is no claim. `bound` tells whether it holds inside a bound text too."""

    name: str
    about: str
    pattern: re.Pattern[str]
    bound: bool = False


EXCEPTIONS = (
    NoClaim(
        "date",
        "2026-11-30, 30 November 2026, Nov 2026",
        re.compile(
            rf"\b\d{{4}}-\d\d(?:-\d\d)?(?:T[\d:.]+(?:Z|[+\-]\d\d:?\d\d)?)?(?![\w-])"
            rf"|\b\d{{1,2}}(?:st|nd|rd|th)? {_MONTH}(?:,? \d{{4}})?\b"
            r"|(?<![\w/.])\d{1,2}([/.])\d{1,2}\1(?:19|20)\d\d(?![\w/])"
            rf"|\b{_MONTH} \d{{1,2}}(?:st|nd|rd|th)?(?:,? \d{{4}})?(?![\w.]\d)\b|\b{_MONTH},? \d{{4}}\b"
        ),
    ),
    NoClaim(
        "time of day",
        "14:05, 14:05:30, 8 a.m.",
        re.compile(r"(?<![\w:])(?:\d{1,2}:\d\d(?::\d\d)?(?![\w:])|\d{1,2} ?[ap]\.m\.)"),
    ),
    NoClaim(
        "year",
        "in 2026, since 2019, (Dao, 2023), from 2019 to 2021, the 1990s: from 1950 to 2049 after such a word",
        re.compile(
            r"(?:(?:\b(?i:in|since|until|by|late|early|mid|during|before|after|year|as of|©|Q[1-4])[ \-]|\()"
            rf"{_YEAR}|(?<=[A-Za-z.], ){_YEAR}(?=[);])|\b(?i:from|between) {_YEAR} (?:to|and|until) {_YEAR})"
            rf"(?=[)\s,.;:]|$){_UNITLESS}(?! [a-z]+s\b)|\b(?:19|20)\d0s\b"
            rf"|\b{_YEAR}(?= (?:edition|paper|study|survey|report|release|standard|conference|workshop)\b)"
        ),
    ),
    NoClaim(
        "version",
        "v1.2, 2025.3.1, CUDA 13.0, driver 580.95",
        re.compile(
            rf"(?<!\w)v\d+(?:\.\d+)*\b|(?<![\w.])\d+\.\d+\.\d+(?:\.\d+)*(?:[\-.]?(?:rc|a|b|dev|post)\d+)?(?!\w)"
            rf"|\b(?:{_BEFORE_A_VERSION})[ \u00a0\-]v?\d+(?:\.(?:\d+|x))*{_UNITLESS}"
            rf"(?:(?:, \d+(?:\.\d+)+{_UNITLESS})*(?:,? and | or |/)\d+(?:\.\d+)+{_UNITLESS})?|\bC\+\+\d\d\b"
        ),
        bound=True,
    ),
    NoClaim(
        "label",
        "Figure 3, Table 2, section 4.1, RFC 9110, GPU 0, #12",
        re.compile(
            rf"\b(?i:{_BEFORE_LABELS})[ \u00a0]?#?\d+(?:\.\d+)*{_UNITLESS}"
            rf"(?:(?:,|,? and| or| to| through|–|-)[ ]?\d+(?:\.\d+)*{_UNITLESS})*"
            rf"|\b(?i:{_BEFORE_A_LABEL}|{_BEFORE_ONE_LABEL})[ \u00a0\-]?#?\d+(?:[.:\-–]\d+)*{_UNITLESS}"
            r"|(?<!\w)[#§][ \u00a0]?\d+(?:\.\d+)*\b"
        ),
        bound=True,
    ),
    NoClaim(
        "shape",
        "4096×128, 64x131072, 2 × 3 × 4",
        re.compile(
            r"(?<![\w.])\d[\d,]{0,14}(?:[ \u00a0\u2009]?[×x*][ \u00a0\u2009]?\d[\d,]{0,14}){1,8}"
            rf"(?![⁰¹²³⁴⁵⁶⁷⁸⁹^\d]){_UNITLESS}"
        ),
        bound=True,
    ),
    NoClaim(
        "name",
        "H200, FP32, sm_90, p10, row-h200, a:b:256, 2D, a DOI",
        re.compile(
            rf"(?<!\w)(?=[\w:/.\-@#+]{{0,200}}\d)(?>[A-Za-z_]\w*(?:[:/.@#+\-_]\w+){{0,40}})(?![{SPACES}](?:{UNIT_NAMES})(?!\w))"
            rf"|(?<!\w)24/7\b|\bO\(1\)|(?<![\w.])\d+-(?:bit|D|based|indexed)\b|\b10\.\d{{4,9}}/[\w./\-]*\w|(?<![\w.])\d+(?!(?:{UNIT_NAMES}|[kKMG]i?)(?!\w))(?![eE][+\-]?\d+\b)[A-Za-z_][\w\-]*"
        ),
        bound=True,
    ),
    NoClaim(
        "ordinal",
        "1st, 90th, 10th and 90th percentile",
        re.compile(r"(?<!\w)\d+(?:st|nd|rd|th)\b", re.IGNORECASE),
        bound=True,
    ),
    NoClaim("level of confidence", "95 % confidence", re.compile(r"\b9\d(?:\.\d)? ?%(?=[ \-]confidence)")),
    NoClaim(
        "reference",
        "2) where a line begins, [12], [3, 4], [^1], (1)",
        re.compile(r"\[\^?[\w]*\d+(?:[,–-] ?\d+)*\]|(?<![\w.,])\(\d{1,2}\)(?!\w)|^\s*\d{1,2}\)(?= )"),
    ),
)
_HEADING_NUMBER = re.compile(r"^\s*(?:\d+(?:\.\d+)*[.)]|\d+(?:\.\d+)+|\d+(?=\s+[A-Z]))(?=\s)")


def no_claims(text: str, *, bound: bool = False, heading: bool = False) -> list[Span]:
    """Where digits stand that claim nothing: EXCEPTIONS, or with `bound` those that hold inside bound text."""
    spans = [
        match.span() for one in EXCEPTIONS if one.bound or not bound for match in one.pattern.finditer(text)
    ]
    if heading and (number := _HEADING_NUMBER.match(text)):
        spans.append(number.span())
    return spans
