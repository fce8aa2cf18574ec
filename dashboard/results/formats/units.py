"""Units as other tools write them, and their numbers in ours."""

from dashboard.language.metrics import METRICS
from dashboard.results.formats.fields import Malformed, quantity

# fmt: off
SECONDS = {
    "ns": 1e-9, "nsec": 1e-9, "us": 1e-6, "usec": 1e-6, "ms": 1e-3, "msec": 1e-3,
    "s": 1.0, "sec": 1.0, "seconds": 1.0,
    "µs": 1e-6,  # U+00B5, as most keyboards have it
    "μs": 1e-6,  # U+03BC, as most tools write it
}
BYTES = {
    "B": 1.0, "bytes": 1.0, "kB": 1e3, "KB": 1e3, "MB": 1e6, "GB": 1e9,
    "KiB": 2.0**10, "MiB": 2.0**20, "GiB": 2.0**30,
}
# fmt: on
PER_SECOND = ("iter/sec", "iter/s", "ops/sec", "ops/s")
EACH = ("/iter", "/op")


def converts(unit: str, key: str) -> bool:
    """Test whether a number in this unit can be converted to the unit of our metric."""
    ours = METRICS[key].unit
    is_time = unit in PER_SECOND or _of_each(unit) in SECONDS
    return (ours in SECONDS and is_time) or (ours in BYTES and unit in BYTES)


def in_our_unit(value: object, unit: str, key: str, field_name: str) -> float:
    """A number in the unit of our metric; as it is, where its unit says nothing of that.

    How often something happens in a second becomes the time of one. Raises Malformed.
    """
    if not converts(unit, key):
        return quantity(value, field_name)
    ours = METRICS[key].unit
    if ours in BYTES:
        return quantity(value, field_name, BYTES[unit] / BYTES[ours])
    if unit not in PER_SECOND:
        return quantity(value, field_name, SECONDS[_of_each(unit)] / SECONDS[ours])
    rate = quantity(value, field_name)
    if rate == 0:
        raise Malformed(f"{field_name} is 0 a second: a benchmark that never ends has no time")
    return 1 / rate / SECONDS[ours]


def _of_each(unit: str) -> str:
    for each in EACH:
        unit = unit.removesuffix(each)
    return unit
