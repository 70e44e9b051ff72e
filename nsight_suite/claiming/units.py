"""Units as they are written, and as the columns of the evidence have them.

Every unit has a dimension and a scale: one written unit is `scale` of the dimension's base unit. The evidence
is in base units but for a few columns, whose own scale their names tell.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

TIME, BYTES, RATE, PLAIN = "ns", "byte", "byte/s", "1"
FREQUENCY, POWER, TEMPERATURE, ARITHMETIC, INTENSITY = "Hz", "W", "°C", "FLOP/s", "FLOP/byte"


@dataclass(frozen=True)
class Unit:
    """A written unit: `name` as it was written, empty for none."""

    name: str
    dimension: str
    scale: Fraction = Fraction(1)


NONE = Unit("", PLAIN)
PERCENT = Unit("%", PLAIN, Fraction(1, 100))
_TIMES = {
    1: ("ns", "nsec", "nanosecond", "nanoseconds"),
    10**3: ("µs", "μs", "us", "µsec", "usec", "microsecond", "microseconds"),
    10**6: ("ms", "msec", "millisecond", "milliseconds"),
    10**9: ("s", "sec", "second", "seconds"),
}
_SIZES = {
    1: ("B", "byte", "bytes", "Byte", "Bytes"),
    10**3: ("kB", "KB"),
    10**6: ("MB",),
    10**9: ("GB",),
    10**12: ("TB",),
    2**10: ("KiB",),
    2**20: ("MiB",),
    2**30: ("GiB",),
    2**40: ("TiB",),
}
_PER_SECOND = ("/s", "/sec", "/second", " per second", "ps")
_PREFIXES = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "P": 10**15}


def _known() -> dict[str, Unit]:
    units = [Unit(name, TIME, Fraction(scale)) for scale, names in _TIMES.items() for name in names]
    for scale, names in _SIZES.items():
        units += [Unit(name, BYTES, Fraction(scale)) for name in names]
        units += [
            Unit(name + per, RATE, Fraction(scale))
            for name in names
            for per in _PER_SECOND
            if (name, per) != ("B", "ps")
        ]
    for prefix, scale in _PREFIXES.items():
        units += [Unit(f"{prefix}Hz", FREQUENCY, Fraction(scale))]
        units += [
            Unit(f"{prefix}{name}", ARITHMETIC, Fraction(scale))
            for name in ("FLOP/s", "FLOPS", "FLOPs/s", "flop/s")
        ]
    units += [Unit("W", POWER), Unit("mW", POWER, Fraction(1, 1000)), Unit("kW", POWER, Fraction(1000))]
    units += [Unit("°C", TEMPERATURE), Unit("FLOP/byte", INTENSITY), Unit("FLOP/B", INTENSITY)]
    units += [PERCENT, *(Unit(name, PLAIN, Fraction(1, 100)) for name in ("percent", "per cent", "pct"))]
    units += [Unit(name, PLAIN) for name in ("×", "x", "X", "times", "-fold", "fold")]
    return {unit.name: unit for unit in units}


UNITS = _known()

# Endings of column names; the first that fits counts.
_ENDINGS = (
    ("flop_per_second", Unit("FLOP/s", ARITHMETIC)),
    ("flop_per_byte", Unit("FLOP/byte", INTENSITY)),
    ("bytes_per_second", Unit("B/s", RATE)),
    ("read_per_second", Unit("B/s", RATE)),
    ("bytes_per_element", Unit("B", BYTES)),
    ("_ns", UNITS["ns"]),
    ("bytes", UNITS["B"]),
    ("_pct", PERCENT),
    ("estimated_speedup", PERCENT),
    ("_mhz", Unit("MHz", FREQUENCY, Fraction(10**6))),
    ("_mw", UNITS["mW"]),
    ("temperature_c", UNITS["°C"]),
)
# The units of counters, by ncu's names.
_COUNTED = {"ns": UNITS["ns"], "byte": UNITS["B"], "%": PERCENT, "byte/second": UNITS["B/s"], "hz": UNITS["Hz"]}


def of_column(column: str, counted: str = "") -> Unit:
    """The unit in which a column of a query holds its values; `counted` is what the row itself says."""
    if counted:
        return _COUNTED.get(counted, NONE)
    if "_bytes_" in column and not column.endswith("_second"):  # smallest, largest, median of bytes
        return UNITS["B"]
    if column.startswith("bytes_") and not column.endswith("_second"):
        return UNITS["B"]
    return next((unit for ending, unit in _ENDINGS if column.endswith(ending)), NONE)


def written(value: Fraction, unit: Unit, digits: int = 6) -> str:
    """A value in base units, in that unit, with its name: for messages."""
    number = f"{float(value / unit.scale):.{digits}g}"
    if "e" in number and abs(value) < 10**18:
        number = f"{float(value / unit.scale):.0f}"
    space = "" if unit.name in ("", "×", "x", "-fold", "fold") else " "
    return f"{number.replace('-', '−')}{space}{unit.name}"


def fitting(value: Fraction, dimension: str) -> Unit:
    """The unit in which a person would write the value."""
    names = {
        TIME: ("s", "ms", "µs", "ns"),
        BYTES: ("TB", "GB", "MB", "kB", "B"),
        RATE: ("TB/s", "GB/s", "MB/s", "kB/s", "B/s"),
        FREQUENCY: ("GHz", "MHz", "kHz", "Hz"),
        POWER: ("W", "mW"),
        TEMPERATURE: ("°C",),
        ARITHMETIC: ("TFLOP/s", "GFLOP/s", "FLOP/s"),
        INTENSITY: ("FLOP/byte",),
    }.get(dimension, ())
    return next(
        (UNITS[name] for name in names if abs(value) >= UNITS[name].scale), UNITS[names[-1]] if names else NONE
    )
