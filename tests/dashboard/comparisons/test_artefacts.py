"""The compression ratio is no choice where it is an artefact: on CPUs and at smoke size."""

import pytest
from django.test import Client

from dashboard.models import Benchmark, BuildLevel, Machine, Series
from tests.builders import releases
from tests.builders.reading import text

pytestmark = pytest.mark.django_db
OFFERED = 'value="compression_ratio"'
PAGES = ("/benchmarks/", "/compare/")


@pytest.fixture(autouse=True)
def ratios() -> None:
    """Both releases of gpt2 with a compression ratio each."""
    releases.import_two_releases(models=["gpt2"], repeats=2)
    for table in (Series, BuildLevel):
        table.objects.filter(metric="peak_memory_gb").update(metric="compression_ratio")


@pytest.mark.parametrize("page", PAGES)
def test_compression_ratio_is_offered_on_a_gpu_alone(reader: Client, page: str) -> None:
    assert OFFERED in text(reader, page)
    Machine.objects.update(device_kind="cpu")
    assert OFFERED not in text(reader, page)


@pytest.mark.parametrize("page", PAGES)
def test_address_that_names_it_on_a_cpu_shows_another_metric(reader: Client, page: str) -> None:
    Machine.objects.update(device_kind="cpu")
    assert "Compression ratio" not in text(reader, f"{page}?metric=compression_ratio")


@pytest.mark.parametrize("build", ["", releases.NEW])
def test_matrix_has_no_compression_ratio_at_smoke_size(reader: Client, build: str) -> None:
    smallest = Benchmark.objects.filter(series__metric="compression_ratio").first()
    assert smallest is not None
    Benchmark.objects.filter(pk=smallest.pk).update(size="smoke")
    address = f"/benchmarks/?metric=compression_ratio&build={build}"
    rows = reader.get(address).context["matrix"].rows
    [row] = [row for row in rows if row.benchmark == smallest.name]
    assert {cell.text for cell in row.cells if cell} == {"–"}


def test_comparison_leaves_it_out_at_smoke_size(reader: Client) -> None:
    Benchmark.objects.filter(mode="training").update(size="smoke")
    rows = reader.get("/compare/?metric=compression_ratio").context["table"].rows
    assert {row.case.mode for row in rows} == {"inference"}
