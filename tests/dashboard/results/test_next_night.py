"""The next night's file lands in the series that earlier versions made."""

import gzip
import json
import re
from importlib import import_module
from pathlib import Path

import pytest
from django.db import connection

from dashboard.models import Series
from tests.builders.foreign_files import ACCURACY, FOLDER, PERFORMANCE
from tests.builders.importing import imported

pytestmark = pytest.mark.django_db
# Results as the last version that kept no names (93260f34) read these files
EARLIER = FOLDER.parent / "imports_before_names.json.gz"
GIVEN = ("--build=2.13.0", "--machine=a100")
TORCHAO = ("--config=inductor", "--metric=Quantized Fwd Time (ms)=latency_ms")
VLLM = ("--config=inductor", "--metric=avg_cold_startup_time=startup_cold_s")


def a_day_later(text: str) -> str:
    """The file with its times a day later, whether in seconds, milliseconds or ISO 8601."""

    def later(match: re.Match[str]) -> str:
        time = float(match[2])
        return f"{match[1]}{time + (86_400_000 if time > 1e11 else 86_400):.0f}"

    text = re.sub(r'("(?:timestamp|date)": ?)(\d{9,})', later, text)
    return re.sub(
        r'("datetime": ?"\d{4}-\d\d-)(\d\d)', lambda day: f"{day[1]}{int(day[2]) + 1}", text
    )


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("asv.json", ()),
        ("data.js", ()),
        ("v3.json", ()),
        ("pytest_benchmark.json", ()),
        (PERFORMANCE, GIVEN),
        (ACCURACY, GIVEN),
        ("torchao_first.json", (*GIVEN, *TORCHAO)),
        ("vllm_startup.cold_startup.pytorch.json", (*GIVEN, *VLLM)),
    ],
)
def test_next_night_is_in_the_series_of_earlier_versions(
    name: str, options: tuple[str, ...], tmp_path: Path
) -> None:
    results = json.loads(gzip.decompress(EARLIER.read_bytes()))[name]
    file = tmp_path / "earlier.jsonl"
    file.write_text("\n".join(json.dumps(result) for result in results))
    imported(str(file), *options)
    with connection.cursor() as cursor:
        cursor.execute(import_module("dashboard.migrations.0044_imported_names").CLAIMABLE)
    before = dict(Series.objects.values_list("pk", "count"))

    again = imported(name, *options, "--at=2026-11-20T22:00+00:00")
    assert f"0 added, {len(results)} here already" in again

    next_night = tmp_path / name
    next_night.write_text(a_day_later((FOLDER / name).read_text()))
    imported(str(next_night), *options, "--at=2026-11-21T22:00+00:00")
    after = dict(Series.objects.values_list("pk", "count"))
    assert after == {pk: 2 * count for pk, count in before.items()}
