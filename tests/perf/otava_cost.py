"""Runs in an environment that has apache-otava: series on stdin, milliseconds for each on stdout.
Both JSON.
"""

import json
import sys
import time

from otava.series import AnalysisOptions, Metric, Series

took = []
for values in json.load(sys.stdin):
    series = Series(
        "series", None, list(range(len(values))), {"value": Metric()}, {"value": values}, {}
    )
    began = time.process_time()
    series.analyze(AnalysisOptions())
    took.append((time.process_time() - began) * 1000)
json.dump(took, sys.stdout)
