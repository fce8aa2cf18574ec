"""Files of twenty real shapes and twenty hostile ones: names, units, directions and times."""

from collections.abc import Iterator
from dataclasses import replace

import pytest
from django.test import Client
from django.urls import reverse
from django.utils.html import escape

from dashboard.models import Benchmark, Machine
from dashboard.results.core.result_format import parse_result
from dashboard.results.formats import Hints, ParsedFile, parse_file, parse_table
from dashboard.results.services.import_existing import ImportReport, ImportSource
from dashboard.results.services.imports import import_results
from tests.builders.foreign_files import documents
from tests.builders.foreign_shapes import AT, HOSTILE, REAL, Shape, Value, v3


def read(shape: Shape) -> ParsedFile:
    table = parse_table(shape.mapping) if shape.mapping else None
    return parse_file(shape.name, shape.body, Hints(table=table, **shape.given))


def imported(shape: Shape, track: str) -> ImportReport:
    table = parse_table(shape.mapping) if shape.mapping else None
    source = ImportSource(shape.name, shape.body)
    given = dict(shape.given)
    machine = given.pop("machine", "")
    hints = Hints(table=table, **given)
    return import_results(sources=[source], machine=machine, track=track, hints=hints)


def values(file: ParsedFile) -> Iterator[Value]:
    for document in documents(file):
        parse_result(document)
        for key, metric in document["metrics"].items():
            yield (*document["job"]["imported"].values(), key, pytest.approx(metric["value"]))


@pytest.mark.parametrize("shape", [*REAL, *HOSTILE], ids=lambda shape: shape.name)
def test_values_have_their_names_and_units(shape: Shape) -> None:
    file = read(shape)
    read_values = list(values(file))
    assert [value for value in shape.values if value not in read_values] == []
    assert bool(read_values) == bool(shape.values)


@pytest.mark.parametrize("shape", [*REAL, *HOSTILE], ids=lambda shape: shape.name)
def test_what_is_not_read_is_named(shape: Shape) -> None:
    file = read(shape)
    for refusal, why in zip(file.refused, shape.refused, strict=True):
        assert why in refusal.why
    assert set(shape.left_out) <= set(file.left_out)


@pytest.mark.parametrize("shape", REAL, ids=lambda shape: shape.name)
def test_times_are_those_of_the_measurement(shape: Shape) -> None:
    assert {document["started_at"][:10] for document in documents(read(shape))} <= {"2026-11-20"}


@pytest.mark.parametrize("shape", [shape for shape in HOSTILE if shape.builds])
def test_commits_that_differ_are_builds_that_differ(shape: Shape) -> None:
    assert tuple(document["job"]["build"] for document in documents(read(shape))) == shape.builds


@pytest.mark.django_db
def test_each_shape_has_its_pages(reader: Client) -> None:
    for number, shape in enumerate([*REAL, *HOSTILE]):
        imported(shape, f"track-{number}")
    for benchmark in Benchmark.objects.all():
        page = reader.get(reverse("series", args=[benchmark.name]))
        name = escape(benchmark.original[:60]).replace("\u202e", "\ufffd")
        assert name in page.text.replace("<wbr>", "")
    for name in ("home", "benchmarks", "runs", "fleet"):
        assert reader.get(reverse(name)).status_code == 200


@pytest.mark.django_db
def test_cpus_with_as_many_cores_are_two_machines() -> None:
    """They went to cpu-8c together, as one series."""
    for cpu in ("Xeon", "EPYC", "Xeon"):
        runner = {"cpu_info": cpu, "cpu_count": 8}
        metric = {"name": "latency_ms", "benchmark_values": [1.0]}
        imported(Shape("cpu.json", v3("bert", metric, runners=[runner]), given={}), "cpus")
    labels = dict(Machine.objects.values_list("key", "label"))
    assert labels == {"cpu-8c": "Xeon, 8 cores", "cpu-8c-cf58949d": "EPYC, 8 cores"}


def test_file_without_a_machine_asks_for_it_once() -> None:
    [shape] = [shape for shape in REAL if shape.name == "hyperfine.json"]
    file = read(replace(shape, given={"build": "2.13.0", "at": AT}))
    assert [refusal.why for refusal in file.refused] == [
        "the mapping names no machine: give its key with the import (--machine), "
        "in each of 2 records"
    ]
