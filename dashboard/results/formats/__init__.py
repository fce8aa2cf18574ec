"""Other tools' benchmark files -> result documents like our own, and refusals. Pure.

bytes -> which format? -> v3 | dynamo_csv | asv | a mapping (tables, or --map) | ours
      -> ForeignMeasurement -> result.v1 documents
"""

from dashboard.results.formats.common import NO_HINTS, Hints, ParsedFile, RefusedPart
from dashboard.results.formats.documents import EarlierBenchmark, ImportedNames
from dashboard.results.formats.mapping import Table, parse_metric_mapping, parse_table
from dashboard.results.formats.reading import FORMATS, OURS, parse_file
