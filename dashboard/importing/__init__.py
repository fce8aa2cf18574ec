"""Other people's benchmark files -> result documents like our own. Pure: bytes in, documents and refusals out.

bytes ── which format? ── v3 | dynamo_csv | pytest_benchmark | asv | ours ── Measured ── result.v1 documents
"""

from dashboard.importing.form import Hints, Refusal, Understood
from dashboard.importing.reading import FORMATS, OURS, understand

__all__ = ["FORMATS", "OURS", "Hints", "Refusal", "Understood", "understand"]
