"""Benchmarks in a line each: which configs have a column, which is the best, and what is folded."""

import re

import pytest
from django.test import Client

from dashboard.language.metrics import METRICS
from dashboard.results.selectors.rollup import CaseRollup
from dashboard.results.services.ingest import ingest
from dashboard.trends.selectors.benchmark_lines import BenchmarkLine, line_columns, line_families
from dashboard.trends.selectors.matrix import make_matrix
from dashboard.trends.selectors.matrix_cells import MatrixQuery
from tests.builders import site
from tests.builders.read_data import case, newest
from tests.builders.reading import text

OLD, NEW = "2.11.0", "2.13.0"
PLAIN = MatrixQuery(builds=[NEW, OLD])
NAME = "gpt2.standard.inference.float32.static.b16"


def speedup(
    config: str,
    value: float | None,
    half_width: float = 0.01,
    status: str = "pass",
    build: str = NEW,
) -> CaseRollup:
    ends = {}
    if value is not None:
        ends = {"low": value - half_width, "high": value + half_width}
    datum = newest(value, status, build=build, **ends)
    rollup = case({"speedup": datum}, config=config, benchmark=NAME)
    rollup.config_position = len(config)
    return rollup


def only_line(*cases: CaseRollup, query: MatrixQuery = PLAIN, opened: str = "") -> BenchmarkLine:
    (family,) = line_families(make_matrix(cases, query), query, [opened])
    (line,) = family.lines
    return line


def configs(line: BenchmarkLine) -> list[str]:
    return [cell.case.config for cell in line.others]


def test_best_config_is_named() -> None:
    line = only_line(speedup("inductor", 1.5), speedup("regional", 1.8))
    assert line.best
    assert line.best.case.config == "regional"
    assert line.tied_with == []


def test_config_whose_interval_overlaps_the_best_is_named_with_it() -> None:
    line = only_line(speedup("inductor", 1.79, 0.05), speedup("regional", 1.8, 0.05))
    assert line.tied_with == ["inductor"]


def test_configs_within_the_threshold_of_the_best_are_all_named_with_it() -> None:
    line = only_line(
        speedup("inductor", 1.79, 0.001),
        speedup("regional", 1.8, 0.001),
        speedup("fullgraph", 1.78, 0.001),
        speedup("dynamic", 1.7, 0.001),
    )
    assert set(line.tied_with) == {"inductor", "fullgraph"}


def test_best_is_of_one_build_the_newest_with_two_configs() -> None:
    line = only_line(
        speedup("inductor", 1.5, build=OLD),
        speedup("modular", 1.7, build=OLD),
        speedup("regional", 1.9, build=NEW),
    )
    assert line.best
    assert line.best.case.config == "modular"


def test_configs_of_different_builds_have_no_best() -> None:
    cases = [speedup("inductor", 1.5, build=OLD), speedup("regional", 1.9, build=NEW)]
    assert only_line(*cases).best is None


def test_one_config_alone_is_not_the_best() -> None:
    assert only_line(speedup("inductor", 1.5)).best is None


def test_imports_without_our_configs_have_columns_of_their_own() -> None:
    matrix = make_matrix([speedup("pytest_benchmarks", 1.5)], PLAIN)
    assert line_columns(matrix, PLAIN) == ["pytest_benchmarks"]


def test_best_of_a_latency_is_the_lowest_and_may_be_eager() -> None:
    cases = [
        case({"latency_ms": newest(value, build=NEW)}, config=config)
        for config, value in (("eager", 1.0), ("inductor", 2.0))
    ]
    query = MatrixQuery(metric=METRICS["latency_ms"], builds=[NEW])
    best = only_line(*cases, query=query).best
    assert best
    assert best.case.config == "eager"


def test_memory_below_zero_is_not_the_best() -> None:
    cases = [
        case({"peak_memory_gb": newest(value, build=NEW)}, config=config)
        for config, value in (("eager", -0.003), ("inductor", 0.02), ("regional", 0.03))
    ]
    line = only_line(*cases, query=MatrixQuery(METRICS["peak_memory_gb"], builds=[NEW]))
    assert line.best
    assert line.best.case.config == "inductor"
    assert line.tied_with == []


def test_against_a_base_the_largest_change_is_named() -> None:
    base = {("a", config): case({"latency_ms": newest(10.0)}) for config in ("inductor", "x")}
    cases = [
        case({"latency_ms": newest(value, build=NEW)}, config=config)
        for config, value in (("inductor", 9.5), ("x", 14.0))
    ]
    query = MatrixQuery(metric=METRICS["latency_ms"], base=base, builds=[NEW])
    best = only_line(*cases, query=query).best
    assert best
    assert best.case.config == "x"


def test_other_configs_are_folded_but_a_failure_is_not() -> None:
    line = only_line(
        speedup("inductor", 1.5),
        speedup("regional", 1.8),
        speedup("fullgraph", 1.2),
        speedup("dynamic", None, status="oom"),
    )
    assert configs(line) == ["fullgraph"]
    assert [cell.text for cell in line.failed] == ["out of memory"]


def test_eager_without_a_job_of_its_own_is_the_control_of_the_others() -> None:
    rollup = speedup("inductor", 1.5)
    rollup.add("eager_latency_ms", newest(12.0))
    eager = only_line(rollup).cells[0]
    assert eager
    assert eager.text == "12.0 ms"


@pytest.mark.parametrize(
    ("own_age", "control_age", "shown"), [(1, 0, "12.0 ms"), (0, 0, "12.0 ms"), (0, 1, "15.0 ms")]
)
def test_eager_is_of_the_newest_build_and_of_the_jobs_of_the_speedup(
    own_age: int, control_age: int, shown: str
) -> None:
    own = case({"latency_ms": newest(15.0, age=own_age)}, config="eager", benchmark=NAME)
    compiled = speedup("inductor", 1.5)
    compiled.add("eager_latency_ms", newest(12.0, age=control_age))
    eager = only_line(own, compiled).cells[0]
    assert eager
    assert (eager.text, eager.build) == (shown, "")


def test_variant_is_what_model_and_mode_do_not_say() -> None:
    line = only_line(speedup("inductor", 1.5))
    assert line.model == "gpt2"
    assert line.variant == "float32 static b16"


def test_config_that_rows_are_sorted_by_has_a_column() -> None:
    query = MatrixQuery(order="-regional")
    matrix = make_matrix([speedup("inductor", 1.5), speedup("regional", 1.8)], query)
    assert line_columns(matrix, query) == ["eager", "inductor", "regional"]


# --- On the page
@pytest.fixture
def measured(db: None) -> None:
    worker = site.worker()
    for config, value in (("inductor", 1.5), ("regional", 1.2)):
        job = site.claim(site.queued_job(configs=(config,)), worker)
        result = site.result(job, {"latency_ms": 1.0, "speedup": value})
        ingest(job_id=job.pk, worker=worker, body=site.delivery(job, result))


@pytest.mark.usefixtures("measured")
def test_folded_configs_are_opened_by_the_address(reader: Client) -> None:
    folded = text(reader, "/benchmarks/")
    assert "1 more" in folded
    assert "1.20×" not in folded
    assert "1.20×" in text(reader, f"/benchmarks/?open={site.MLP}")


@pytest.mark.usefixtures("measured")
def test_opened_configs_lead_to_their_series(reader: Client) -> None:
    page = text(reader, f"/benchmarks/?open={site.MLP}")
    (opened,) = re.findall(r'<tr class="opened">.*?href="(.*?)"', page)
    assert opened.startswith(f"/series/{site.MLP}/?")


@pytest.mark.usefixtures("measured")
def test_opened_benchmark_links_to_itself_closed(reader: Client) -> None:
    page = reader.get(f"/benchmarks/?family=nothing&open={site.MLP}").text
    assert f'href="?family=nothing#{site.MLP}"' in page


@pytest.mark.usefixtures("measured")
def test_all_configs_have_a_column_on_request(reader: Client) -> None:
    page = reader.get("/benchmarks/?configs=all").text
    assert 'class="matrix"' in page
    assert "1.20×" in page


@pytest.mark.usefixtures("measured")
def test_filters_are_folded_until_one_is_set(reader: Client) -> None:
    folded = '<details class="further" id="further">'
    assert folded in reader.get("/benchmarks/").text
    assert folded not in reader.get("/benchmarks/?sort=name").text
