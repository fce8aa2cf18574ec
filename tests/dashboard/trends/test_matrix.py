"""The matrix: what a cell says, how warm it is, how rows are ordered, and a build as it was
measured.
"""

import csv
import io
from collections.abc import Iterable, Mapping
from typing import Any

import pytest
from django.test import Client

from dashboard.language.metrics import METRICS
from dashboard.models import Benchmark, Worker
from dashboard.results.selectors.rollup import CaseRollup
from dashboard.results.services.ingest import ingest
from dashboard.trends.core.heat import change_heat, speedup_heat
from dashboard.trends.selectors.matrix import ColumnMean, make_matrix
from dashboard.trends.selectors.matrix_cells import MatrixQuery, make_cell
from tests.builders import releases, site
from tests.builders.read_data import case, newest
from tests.builders.reading import text

LATENCY, BREAKS, DRIFT = METRICS["latency_ms"], METRICS["graph_breaks"], METRICS["drift"]
COLD = METRICS["cold_start_s"]
PLAIN = MatrixQuery()


def against(*base: CaseRollup) -> MatrixQuery:
    by_case = {(case.benchmark, case.config): case for case in base}
    return MatrixQuery(metric=LATENCY, base=by_case)


def texts(means: Iterable[ColumnMean]) -> list[str]:
    return [mean.text for mean in means]


def latency(value: float, benchmark: str = "a", **fields: Any) -> CaseRollup:
    return case({"latency_ms": newest(value)}, benchmark=benchmark, **fields)


# --- A cell
@pytest.mark.parametrize(
    ("speedup", "step"),
    [
        (1.0, 0),
        (1.01, 0),
        (1.05, 1),
        (1.3, 3),
        (2.0, 4),
        (0.97, -1),
        (0.5, -4),
        (None, 0),
        (0.0, 0),
    ],
)
def test_heat_is_symmetric_by_ratio(speedup: float | None, step: int) -> None:
    assert speedup_heat(speedup) == step


@pytest.mark.parametrize(
    ("metric", "old", "new", "step"),
    [
        (LATENCY, 100, 101, 0),
        (LATENCY, 100, 103, -1),
        (LATENCY, 100, 80, 4),
        (COLD, 10, 10.5, 0),
        (COLD, 10, 13, -2),
        (BREAKS, 0, 1, -1),
        (BREAKS, 12, 0, 4),
        (DRIFT, 0.0, 0.0, 0),
    ],
)
def test_heat_of_a_change_scales_with_the_metrics_threshold(
    metric: Any, old: float, new: float, step: int
) -> None:
    assert change_heat(metric, old, new) == step


def test_cell_shows_the_speedup_and_on_hover_the_latency() -> None:
    rollup = case({"speedup": newest(1.5, low=1.4, high=1.6), "latency_ms": newest(12.0)})
    cell = make_cell(rollup, PLAIN)
    assert cell.text == "1.50×"
    assert cell.about == "12.0 ms per step; 95% interval 1.40 to 1.60×"


def test_cell_of_eager_shows_its_latency() -> None:
    assert make_cell(case({"latency_ms": newest(12.0)}, config="eager"), PLAIN).text == "12.0 ms"


def test_cell_of_a_failure_shows_its_status_word_for_any_query() -> None:
    failed = case({"latency_ms": newest(None, "timeout")})
    assert make_cell(failed, PLAIN).text == "timed out"
    assert make_cell(failed, against(latency(1.0))).text == "timed out"


def test_another_metric_keeps_the_colour_of_the_speedup() -> None:
    rollup = case({"speedup": newest(2.0), "drift": newest(1e-6)})
    cell = make_cell(rollup, MatrixQuery(metric=DRIFT))
    assert cell.text == "1.00×10⁻⁶"
    assert cell.about == "speedup 2.00×"
    assert cell.heat == 4


def test_another_metric_has_no_colour_of_another_builds_speedup() -> None:
    rollup = case({"speedup": newest(2.0, build="2.15.0"), "drift": newest(1e-6, build="2.11.0")})
    cell = make_cell(rollup, MatrixQuery(metric=DRIFT))
    assert cell.about == "PyTorch 2.11.0"
    assert cell.heat == 0


def test_cell_against_a_base_shows_the_change_and_both_values() -> None:
    cell = make_cell(latency(110.0), against(latency(100.0)))
    assert cell.text == "? 10.0% slower"
    assert cell.about == "100 ms before, 110 ms now"
    assert cell.heat == -3


@pytest.mark.parametrize(
    ("base", "reason"),
    [
        ([], "not measured with the base"),
        ([case({"latency_ms": newest(None, "oom")})], "the base ended with oom"),
    ],
    ids=["absent", "failed"],
)
def test_cell_says_why_the_base_has_no_value(base: list[CaseRollup], reason: str) -> None:
    cell = make_cell(latency(110.0), against(*base))
    assert cell.text == "110 ms"
    assert cell.heat == 0
    assert cell.about.startswith(reason)


# --- Rows
@pytest.mark.parametrize(
    ("status", "kept"),
    [
        ("oom", ["b"]),
        ("failed", ["b"]),
        ("pass", ["a"]),
        ("", ["a", "b"]),
    ],
)
def test_status_filter_keeps_benchmarks_with_such_a_case(status: str, kept: list[str]) -> None:
    cases = [latency(1.0), case({"latency_ms": newest(None, "oom")}, benchmark="b")]
    rows = make_matrix(cases, MatrixQuery(status=status)).rows
    assert [row.benchmark for row in rows] == kept


@pytest.mark.parametrize(
    ("order", "rows"),
    [
        ("", "cabd"),
        ("name", "abcd"),
        ("worst", "dcab"),
        ("inductor", "bacd"),
        ("-inductor", "dcab"),
        ("?", "cabd"),
    ],
)
def test_rows_are_sorted_by_the_requested_order(order: str, rows: str) -> None:
    cases = [
        latency(3.0, "c"),
        latency(2.0, "a"),
        latency(1.0, "b"),
    ]
    cases.append(case({"latency_ms": newest(None, "oom")}, benchmark="d"))
    table = make_matrix(cases, MatrixQuery(metric=LATENCY, order=order))
    assert "".join(row.benchmark for row in table.rows) == rows


def test_row_shows_the_newest_version_of_its_benchmark() -> None:
    cases = [
        case({"speedup": newest(1.4)}, config="inductor", version=1),
        case({"speedup": newest(1.8)}, config="regional", version=2),
    ]
    (row,) = make_matrix(cases, PLAIN).rows
    cells = {cell.case.config: cell for cell in row.cells if cell}
    assert cells["regional"].text == "1.80×"
    assert cells["inductor"].text == "– older version"
    assert "the row shows version 2" in cells["inductor"].about


def test_case_without_eager_says_so_instead_of_a_speedup() -> None:
    cell = make_cell(case({"latency_ms": newest(394.0)}), PLAIN)
    assert cell.text == "– no eager"
    assert "394 ms per step" in cell.about


def test_older_version_is_not_in_the_mean_of_the_family() -> None:
    cases = [
        case({"speedup": newest(1.4)}, config="inductor", version=1),
        case({"speedup": newest(1.8)}, config="regional", version=2),
    ]
    assert texts(make_matrix(cases, PLAIN).means["llm"]) == ["", "1.80×"]


def test_change_is_not_told_between_versions_of_the_benchmark() -> None:
    base = case({"latency_ms": newest(10.0)}, version=1)
    cell = make_cell(case({"latency_ms": newest(5.0)}, version=2), against(base))
    assert cell.change is None
    assert "the base measured version 1 of the benchmark" in cell.about


def test_family_has_the_geomean_of_its_passing_cases() -> None:
    cases = [
        case({"speedup": newest(2.0)}, benchmark="fast"),
        case({"speedup": newest(0.5)}, benchmark="slow"),
        case({"speedup": newest(9.0, "oom")}, benchmark="failed"),
    ]
    assert texts(make_matrix(cases, PLAIN).means["llm"]) == ["1.00×"]


def test_family_changes_by_the_cases_that_both_builds_have() -> None:
    table = make_matrix([latency(110.0), latency(900.0, "new")], against(latency(100.0)))
    assert texts(table.means["llm"]) == ["? 10.0% slower"]


# --- With the database
def measured(
    by: Worker,
    build: str,
    values: Mapping[str, float],
    status: str = "pass",
    config: str = "inductor",
) -> None:
    site.build(build)
    job = site.claim(site.queued_job(build=build, configs=(config,)), by)
    result = site.result(job, values, status=status)
    ingest(job_id=job.pk, worker=by, body=site.delivery(job, result))


@pytest.fixture
def two_builds(db: None) -> None:
    worker = site.worker()
    measured(worker, "2.12.0", {"latency_ms": 10.0, "speedup": 2.0})
    measured(worker, "2.12.0", {}, status="oom", config="regional")
    measured(worker, "2.13.0", {"latency_ms": 12.0, "speedup": 1.5})


@pytest.fixture
def two_versions(db: None) -> None:
    """One config with version 1 of the benchmark, then another with version 2."""
    worker = site.worker()
    measured(worker, "2.13.0", {"latency_ms": 10.0, "speedup": 1.4})
    Benchmark.objects.filter(name=site.MLP).update(version=2)
    measured(worker, "2.13.0", {"latency_ms": 8.0, "speedup": 1.8}, config="regional")


@pytest.mark.django_db
@pytest.mark.parametrize("page", ["/benchmarks/", "/"])
@pytest.mark.parametrize("machine", ["cpu-2c", "h100"])
def test_page_does_not_begin_with_a_track_that_has_next_to_nothing(
    page: str, machine: str, reader: Client
) -> None:
    measured(site.worker(), "2.12.0", {"latency_ms": 10.0, "speedup": 2.0})
    releases.import_two_releases(repeats=1, machine=machine)
    Benchmark.objects.update(imported=False)  # as a worker offers them
    place = reader.get(page).context["place"]
    assert (place.machine.key, place.track.key) == (machine, "import")
    assert reader.get(f"{page}?track=local").context["place"].track.key == "local"


@pytest.mark.django_db
@pytest.mark.parametrize("page", ["/benchmarks/", "/"])
def test_machine_that_is_asked_for_is_shown_however_little_it_has(
    page: str, reader: Client
) -> None:
    measured(site.worker(), "2.12.0", {"latency_ms": 10.0, "speedup": 2.0})
    releases.import_two_releases(repeats=1, machine="h100")
    Benchmark.objects.update(imported=False)
    assert reader.get(f"{page}?machine=cpu-2c").context["place"].machine.key == "cpu-2c"


def test_build_is_shown_as_it_was_measured(two_builds: None, reader: Client) -> None:
    shown = text(reader, "/benchmarks/?build=2.12.0")
    assert "2.00×" in shown
    assert ">out of memory<" in shown


def test_build_is_compared_with_another(two_builds: None, reader: Client) -> None:
    shown = text(reader, "/benchmarks/?build=2.13.0&base=2.12.0&metric=latency_ms")
    assert "20.0% slower" in shown
    assert "base=2.12.0&amp;new=2.13.0" in shown


def test_cell_of_the_newest_results_names_its_build(two_builds: None, reader: Client) -> None:
    shown = text(reader, "/benchmarks/?configs=all")
    assert "of the newest build, " in shown
    assert "12.0 ms per step; 95% interval 1.50 to 1.50×; PyTorch 2.13.0" in shown
    assert "the last job ended oom; PyTorch 2.12.0" in shown


def test_newest_results_are_compared_with_a_build(two_builds: None, reader: Client) -> None:
    page = text(reader, "/benchmarks/?base=2.12.0")
    assert "25.0% lower" in page


@pytest.mark.parametrize("build", ["", "2.13.0"])
def test_page_marks_what_was_measured_with_an_older_version(
    build: str, two_versions: None, reader: Client
) -> None:
    shown = text(reader, f"/benchmarks/?configs=all&build={build}")
    assert "1.80×" in shown
    assert "1.40×" not in shown
    assert "last measured with version 1; the row shows version 2" in shown


def test_cell_links_to_the_series_in_its_metric(two_builds: None, reader: Client) -> None:
    address = f"/series/{site.MLP}/?machine=cpu-2c&amp;track=local"
    shown = text(reader, "/benchmarks/?metric=latency_ms")
    assert f"{address}&amp;metric=latency_ms&amp;config=inductor" in shown


def test_page_says_that_the_build_was_not_measured(two_builds: None, reader: Client) -> None:
    shown = text(reader, "/benchmarks/?build=1.0")
    assert "The build that this address names was not measured" in shown


def test_csv_has_every_case_unrounded_with_its_change(two_builds: None, reader: Client) -> None:
    response = reader.get("/benchmarks/export.csv?build=2.13.0&base=2.12.0&metric=latency_ms")
    (row,) = csv.DictReader(io.StringIO(response.content.decode()))
    assert row["benchmark"] == site.MLP
    assert row["config"] == "inductor"
    assert row["status"] == "pass"
    numbers = [float(row[name]) for name in ("value", "base_value", "change_percent")]
    assert numbers == pytest.approx([12, 10, 20])


def test_csv_of_the_newest_results_has_the_build_of_each(two_builds: None, reader: Client) -> None:
    response = reader.get("/benchmarks/export.csv")
    rows = csv.DictReader(io.StringIO(response.content.decode()))
    builds = {row["config"]: row["build"] for row in rows}
    assert builds == {"inductor": "2.13.0", "regional": "2.12.0"}


def test_json_keeps_failures_with_their_status(two_builds: None, reader: Client) -> None:
    rows = reader.get("/benchmarks/export.json?build=2.12.0&status=oom").json()
    statuses = {row["config"]: row["status"] for row in rows}
    values = {row["config"]: row["value"] for row in rows}
    assert statuses["regional"] == "oom"
    assert values["regional"] is None
