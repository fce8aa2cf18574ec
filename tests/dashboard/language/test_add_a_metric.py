"""docs/add-a-metric.md's row is one the table takes."""

import re
from pathlib import Path

from dashboard.language.metrics import METRICS, Metric

PAGE = (Path(__file__).parents[3] / "docs" / "add-a-metric.md").read_text()
ROW: Metric = eval(
    re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)[0].strip(), {"Metric": Metric}
)


def test_documented_row_adds_a_complete_metric() -> None:
    assert ROW.key not in METRICS
    assert ROW.label
    assert ROW.about


def test_every_metric_has_its_own_key_and_an_explanation() -> None:
    assert all(
        key == metric.key and metric.label and metric.about for key, metric in METRICS.items()
    )


def test_unit_is_the_suffix_of_its_key() -> None:
    suffixes = {unit: f"_{unit.lower()}" for unit in ("ms", "s", "GB", "MB", "MHz", "W")} | {
        "%": "_percent"
    }
    assert [
        m.key
        for m in METRICS.values()
        if m.unit in suffixes and not m.key.endswith(suffixes[m.unit])
    ] == []
