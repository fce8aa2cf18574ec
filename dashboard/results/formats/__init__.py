"""Other people's benchmark files -> result documents like our own. Pure: bytes in, documents and
refusals out.

bytes ── which format? ── v3 | dynamo_csv | pytest_benchmark | asv | ours ── Measured ── result.v1
documents
"""

from dashboard.results.formats.form import NOTHING_SAID, Hints, Refusal, Understood
from dashboard.results.formats.naming import named
from dashboard.results.formats.reading import FORMATS, OURS, understand

__all__ = [
    "FORMATS",
    "NOTHING_SAID",
    "OURS",
    "Hints",
    "Refusal",
    "Understood",
    "named",
    "understand",
]
