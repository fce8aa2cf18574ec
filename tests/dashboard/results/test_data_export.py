"""All data at one address, as files that other tools read."""

import csv
import io
import json
import sys
from datetime import UTC, datetime
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from pyarrow.parquet import read_table

from dashboard.models import Datum
from dashboard.results.core.data_files import DataRow, csv_lines, v3_record
from dashboard.results.core.result_format import parse_result
from dashboard.results.formats import parse_file
from tests.builders.importing import imported

ROW = DataRow(
    datetime(2026, 11, 1, 3, tzinfo=UTC),
    "h100",
    "nightly",
    "2.14.0",
    "2.14.0",
    "abc",
    "gpt2.standard.x",
    "gpt2",
    "llm",
    "training",
    "bfloat16",
    16,
    1,
    "inductor",
    "latency_ms",
    12.5,
    12.4,
    12.6,
    40,
    "pass",
    "scheduled",
    "job",
    "",
)


def fetched(client: Client, form: str, **filters: Any) -> str:
    answer = client.get(reverse("data_export", args=[form]), filters)
    assert answer.status_code == 200, answer.content
    return b"".join(answer.streaming_content).decode()  # type: ignore[attr-defined]


@pytest.mark.django_db
class TestExported:
    def test_csv_has_a_line_for_each_datum(self, reader: Client) -> None:
        imported("v3.json")
        rows = list(csv.DictReader(io.StringIO(fetched(reader, "csv"))))
        assert len(rows) == Datum.objects.count()
        latencies = [row["value"] for row in rows if row["metric"] == "latency_ms"]
        assert latencies == ["12.5", "12.7", "15.1"]

    def test_filters_are_those_of_the_pages(self, reader: Client) -> None:
        imported("v3.json")
        filters = {
            "metric": ["latency_ms", "speedup"],
            "machine": "h100",
            "build": "git-b4e6d2c3f5a7",
        }
        lines = fetched(reader, "jsonl", **filters).splitlines()
        rows = [json.loads(line) for line in lines]
        assert {(row["metric"], row["value"]) for row in rows} == {
            ("latency_ms", 12.7),
            ("speedup", 1.6535),
        }
        assert fetched(reader, "jsonl", config="eager") == ""

    def test_since_and_until_cut_the_time(self, reader: Client) -> None:
        imported("v3.json")
        filters = {
            "metric": "latency_ms",
            "since": "2026-11-02T00:00Z",
            "until": "2026-11-03T00:00Z",
        }
        (line,) = fetched(reader, "jsonl", **filters).splitlines()
        assert json.loads(line)["value"] == 12.7

    def test_v3_export_is_read_as_v3(self, reader: Client) -> None:
        imported("v3.json")
        file = parse_file("again.jsonl", fetched(reader, "v3").encode())
        assert file.refused == []
        results = [parse_result(document) for _, document in file.documents]
        values = [result.metrics["latency_ms"].value for result in results]
        assert values == [12.5, 12.7, 15.1]

    def test_parquet_has_the_rows_with_their_types(self, reader: Client) -> None:
        imported("v3.json")
        answer = reader.get(reverse("data_export", args=["parquet"]), {"metric": "latency_ms"})
        assert answer["Content-Type"] == "application/vnd.apache.parquet"
        body = b"".join(answer.streaming_content)  # type: ignore[attr-defined]
        table = read_table(io.BytesIO(body))
        assert table.column_names == [*DataRow._fields]
        assert table["value"].to_pylist() == [12.5, 12.7, 15.1]
        names = ("at", "value", "samples", "config")
        kinds = [str(table.schema.field(name).type) for name in names]
        assert kinds == ["timestamp[us, tz=UTC]", "double", "int64", "string"]

    def test_without_pyarrow_parquet_says_what_is_missing(
        self, reader: Client, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setitem(sys.modules, "pyarrow", None)  # as where it is not installed
        answer = reader.get(reverse("data_export", args=["parquet"]))
        assert answer.status_code == 501
        assert "pip install pyarrow" in answer.content.decode()

    @pytest.mark.parametrize(
        ("query", "says"),
        [
            ("since=yesterday", "since is 'yesterday': write a day or a time"),
            ("benchmarks=gpt2", "Unknown filter benchmarks. Known: machine, track"),
            ("until=", ""),
        ],
    )
    def test_unreadable_filter_is_refused_with_the_reason(
        self, reader: Client, query: str, says: str
    ) -> None:
        answer = reader.get(f"{reverse('data_export', args=['csv'])}?{query}")
        assert answer.status_code == (400 if says else 200)
        assert says in (answer.content.decode() if says else "")


def test_no_cell_of_a_csv_is_a_formula() -> None:
    dangerous = ROW._replace(build="=cmd|' /C calc'!A0", value=-1.5)
    text = b"".join(csv_lines([dangerous])).decode()
    row = next(csv.DictReader(io.StringIO(text)))
    assert row["build"] == "'=cmd|' /C calc'!A0"
    assert row["value"] == "-1.5"


def test_failure_is_a_v3_record_of_accuracy() -> None:
    failure = ROW._replace(
        value=None,
        low=None,
        high=None,
        status="fail_accuracy",
    )
    record = v3_record(failure)
    assert record["metric"] == {
        "name": "accuracy",
        "extra_info": {"benchmark_values": ["fail_accuracy"]},
    }
