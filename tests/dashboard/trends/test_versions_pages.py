"""Versions and a series by release: what the pages say from stored data."""

import csv
import io
import re
from datetime import timedelta

import pytest
from django.test import Client

from dashboard.alerts.services import triage
from dashboard.catalog.services.builds import add_variant
from dashboard.comparisons.core.levels import level_of
from dashboard.comparisons.core.tables import compare
from dashboard.judgement.words import in_words
from dashboard.language.metrics import METRICS
from dashboard.models import BuildLevel, Job, Run, Series, TorchBuild
from dashboard.trends.core.release_charts import release_figure
from dashboard.trends.core.release_lines import Release, ReleaseLine, short_names
from dashboard.trends.core.version_matrix import VersionCell, changed_first, version_rows
from dashboard.ui.config_looks import SLOTS
from tests.builders import releases
from tests.builders.compared import latency, samples, side
from tests.builders.reading import page_text, text

pytestmark = pytest.mark.django_db
COMPARE = "/compare/?base=2.11.0&new=2.13.0&machine=h100"


# --- Empty
@pytest.mark.parametrize("url", ["/compare/", "/versions/", "/comparisons/"])
def test_page_of_an_empty_site_says_how_to_begin(reader: Client, url: str) -> None:
    page = text(reader, url)
    assert "manage.py compare_builds" in page


# --- Versions
def test_matrix_compares_each_case_with_the_base_release(
    two_releases: None, reader: Client
) -> None:
    shown = text(reader, "/versions/?machine=h100")
    assert "faster" in shown
    assert "fail_to_compile" in shown


CAPTIONING = "captioning.standard.training.bfloat16.static.b16"


def _cells(reader: Client, base: str, config: str) -> dict[str, VersionCell | None]:
    """The cells of the case that failed on the new release alone, by build."""
    page = reader.get("/versions/", {"machine": "h100", "base": base}).context
    labels = [build.label for build, _ in page["columns"]]
    for case, cells in page["rows"]:
        if (case.benchmark, case.config) == (CAPTIONING, config):
            return dict(zip(labels, cells, strict=True))
    raise AssertionError(config)


def test_failure_of_the_base_is_not_shown_under_other_builds(
    two_releases: None, reader: Client
) -> None:
    cells = _cells(reader, releases.NEW, "inductor")
    passed, failed = cells[releases.BASE], cells[releases.NEW]
    assert failed is not None
    assert failed.text == "failed to compile"
    assert passed is not None
    assert not passed.is_failed


@pytest.mark.parametrize(
    ("metric", "values", "factor", "heat"),
    [
        ("device_ms", (93.30, 93.34) * 3, 1.015, -1),  # its threshold is 1%
        ("latency_ms", (93.30, 93.34) * 3, 1.01, 0),
        ("latency_ms", (93.30, 93.34) * 3, 0.97, 1),
        ("graph_breaks", (1.0,) * 6, 3.0, -1),
    ],
)
def test_certain_change_is_coloured_from_its_metrics_threshold_on(
    metric: str, values: tuple[float, ...], factor: float, heat: int
) -> None:
    base = side({metric: samples(values)})
    new = side({metric: samples(values, factor=factor)})
    table = compare(base, new, METRICS[metric])
    ((_, (cell,)),) = version_rows([table.rows[0].case], [(new, table)], METRICS[metric])
    assert cell is not None
    assert cell.heat == heat


def test_change_stands_before_what_is_the_same() -> None:
    metric = METRICS["latency_ms"]
    base = {**latency(), **side({"latency_ms": samples()}, "regional")}
    new = {**latency(), **side({"latency_ms": samples(factor=1.4)}, "regional")}
    table = compare(base, new, metric)
    cases = [new[key].case for key in sorted(new, key=lambda key: key.config)]
    rows, changed = changed_first(version_rows(cases, [(new, table)], metric))
    first, second = [cell for _, (cell,) in rows if cell]
    assert first.text == "▼ 40.0% slower"
    assert second.text.startswith("= ")
    assert changed == 1


def test_certain_drift_from_nothing_is_coloured() -> None:
    base, new = (side({"drift": samples((value,) * 6)}) for value in (0.0, 1e-3))
    table = compare(base, new, METRICS["drift"])
    ((_, (cell,)),) = version_rows([table.rows[0].case], [(new, table)], METRICS["drift"])
    assert cell is not None
    assert cell.heat == -1


def test_change_between_single_processes_is_unclear(reader: Client) -> None:
    releases.import_two_releases(models=["gpt2"], repeats=1, machine="a100")
    page = reader.get("/versions/", {"machine": "a100"}).context
    cells = [cell for _, of_case in page["rows"] for cell in of_case if cell]
    single = [cell.text for cell in cells if "not measured in turn" in cell.about]
    assert single
    assert all(shown.startswith("↔ ") for shown in single)


def test_change_within_the_threshold_has_an_equals_sign(reader: Client, two_releases: None) -> None:
    page = reader.get("/versions/", {"machine": "h100"}).context
    cells = [cell for _, of_case in page["rows"] for cell in of_case if cell]
    same = [cell.text for cell in cells if "; same;" in cell.about]
    assert same
    assert all(shown.startswith("= ") for shown in same)


def test_cell_has_the_interval_of_the_comparison_of_its_two_builds(
    two_releases: None, reader: Client
) -> None:
    page = reader.get("/versions/", {"machine": "h100", "base": releases.BASE}).context
    compared = reader.get(COMPARE).context["report"].latency.rows
    texts = {row.case.key: in_words(row.change).text for row in compared}
    for case, cells in page["rows"]:
        newest = cells[-1]
        if case.key in texts and newest:
            assert newest.about.startswith(texts[case.key])


def test_value_is_shown_although_the_base_lacks_it(two_releases: None, reader: Client) -> None:
    passed = _cells(reader, releases.NEW, "inductor")[releases.BASE]
    assert passed is not None
    assert passed.text.endswith(" ms")


def test_figure_has_a_line_with_intervals_for_each_config(
    two_releases: None, reader: Client
) -> None:
    name = "gpt2.standard.training.bfloat16.static.b16"
    figure = reader.get(f"/versions/data.json?machine=h100&benchmark={name}").json()
    lines = {trace["name"]: trace for trace in figure["data"]}
    assert lines["inductor"]["x"] == [releases.BASE, releases.NEW]
    assert all(reach > 0 for reach in lines["inductor"]["error_y"]["array"])


def test_failed_release_is_in_the_lane_below(two_releases: None, reader: Client) -> None:
    name = "captioning.standard.training.bfloat16.static.b16"
    figure = reader.get(f"/versions/data.json?machine=h100&benchmark={name}").json()
    [failed] = [trace for trace in figure["data"] if trace["meta"]["role"] == "failure"]
    assert failed["x"] == [releases.NEW]
    assert failed["text"] == ["fail_to_compile"]


def test_versions_export_has_every_case_on_every_build(two_releases: None, reader: Client) -> None:
    exported = reader.get("/versions/export.csv?machine=h100").text
    rows = list(csv.DictReader(io.StringIO(exported)))
    assert len(rows) == 6 * 2 * 2 * 2


# --- Series by release
GPT2 = "gpt2.standard.training.bfloat16.static.b16"


def test_series_by_release_has_the_chosen_configs_alone(two_releases: None, reader: Client) -> None:
    figure = reader.get(f"/series/{GPT2}/data.json?axis=release&config=inductor").json()
    assert [trace["name"] for trace in figure["data"]] == ["inductor"]
    assert figure["layout"]["xaxis"]["categoryarray"] == [releases.BASE, releases.NEW]


def test_builds_measured_in_turn_are_compared_oldest_and_newest(
    two_releases: None, reader: Client
) -> None:
    shown = text(reader, f"/series/{GPT2}/?config=inductor")
    assert "Since the previous point" not in shown
    assert "4.9% faster" in shown
    assert f"{releases.NEW} against {releases.BASE}" in shown


def test_build_comes_before_its_variants(two_releases: None, reader: Client) -> None:
    variant = add_variant(
        base=TorchBuild.objects.get(label=releases.BASE),
        name="tuned",
        inductor={"max_autotune": True},
    )
    for model in (Run, BuildLevel):
        model.objects.filter(build__label=releases.NEW).update(build=variant)
    figure = reader.get(f"/series/{GPT2}/data.json?axis=release&config=inductor").json()
    assert figure["layout"]["xaxis"]["categoryarray"] == [releases.BASE, variant.label]
    assert figure["layout"]["xaxis"]["ticktext"] == ["2.11.0", "2.11.0<br>~tuned"]
    # No line leads to a variant
    assert [trace["mode"] for trace in figure["data"]] == ["lines+markers", "markers"]
    assert [trace["marker"]["symbol"] for trace in figure["data"]] == ["circle", "circle-open"]


def test_matrix_has_variants_last_and_the_chart_only_measured_ones(
    two_releases: None, reader: Client
) -> None:
    base = TorchBuild.objects.get(label=releases.BASE)
    variant = add_variant(base=base, name="tuned", inductor={"max_autotune": True})
    releases.add_failed_run(variant)
    page = page_text(reader.get("/versions/?machine=h100&variants=1"))
    assert re.findall(r"<th scope=\"col\"><[^>]*title=\"([^\"]+)", page) == [
        releases.BASE,
        releases.NEW,
        variant.label,
    ]
    figure = reader.get(f"/versions/data.json?machine=h100&benchmark={GPT2}").json()
    assert figure["layout"]["xaxis"]["categoryarray"] == [releases.BASE, releases.NEW]


def test_matrix_begins_with_releases_alone(two_releases: None, reader: Client) -> None:
    base = TorchBuild.objects.get(label=releases.BASE)
    releases.add_failed_run(add_variant(base=base, name="tuned", inductor={"max_autotune": True}))
    selection = reader.get("/versions/?machine=h100").context["selection"]
    assert [build.label for build in selection.builds] == [releases.BASE, releases.NEW]
    assert selection.variants == 1


def test_case_of_one_build_is_shown_where_asked(two_releases: None, reader: Client) -> None:
    def shown(address: str) -> set[str]:
        rows = reader.get(address).context["rows"]
        return {case.benchmark for case, _ in rows}

    alone = "captioning"  # fails to compile in the newer one
    assert shown("/versions/?machine=h100") <= shown("/versions/?machine=h100&all=1")
    assert any(name.startswith(alone) for name in shown("/versions/?machine=h100&all=1"))


def test_matrix_compares_with_a_plain_build_even_if_a_variant_came_first(
    two_releases: None, reader: Client
) -> None:
    base = TorchBuild.objects.get(label=releases.BASE)
    run = Run.objects.filter(build=base).first()
    assert run is not None
    variant = add_variant(base=base, name="tuned", inductor={"max_autotune": True})
    earlier = releases.add_failed_run(variant)
    Run.objects.filter(pk=earlier.pk).update(created_at=run.created_at - timedelta(days=1))
    assert reader.get("/versions/?machine=h100").context["selection"].base.label == releases.BASE


def test_builds_keep_whole_names_where_short_ones_collide() -> None:
    alike = ["2.13.0+cu130~tuned-1a2b3c4d", "2.13.0+cu130~tuned-5e6f7a8b"]
    assert list(short_names(alike).values()) == alike
    assert short_names(["2.13.0+cpu", "2.13.0+cu130"]) == {
        "2.13.0+cpu": "2.13.0+cpu",
        "2.13.0+cu130": "2.13.0+cu130",
    }


def test_configs_of_one_colour_have_markers_of_their_own() -> None:
    release = Release("2.13.0", level_of([1.0, 1.01], [0.03, 0.03]))
    count = 3 * SLOTS
    lines = [ReleaseLine(f"config {position}", position, [release]) for position in range(count)]
    traces = release_figure(lines, METRICS["latency_ms"], ["2.13.0"])["data"]
    looks = {(trace["meta"]["slot"], trace["marker"]["symbol"]) for trace in traces}
    assert len(looks) == count


@pytest.mark.parametrize(
    ("passed", "notes"), [([], ["No number: each of its jobs failed."]), (["2.11.0"], [])]
)
def test_chart_without_a_number_says_why(passed: list[str], notes: list[str]) -> None:
    measured = [Release(build, level_of([1.0, 1.01], [0.03, 0.03])) for build in passed]
    line = ReleaseLine("inductor", 1, [*measured, Release("2.13.0", None, status="fail_to_run")])
    layout = release_figure([line], METRICS["latency_ms"], ["2.11.0", "2.13.0"])["layout"]
    assert [each["text"] for each in layout.get("annotations", [])] == notes


def test_whisker_that_would_flatten_the_chart_is_cut_short_and_marked() -> None:
    narrow = [Release(f"2.{minor}.0", level_of([1.0, 1.01], [0.01, 0.01])) for minor in range(9)]
    wide = Release("2.9.0", level_of([1.0], [0.5]))
    builds = [release.build for release in (*narrow, wide)]
    figure = release_figure(
        [ReleaseLine("inductor", 1, [*narrow, wide])], METRICS["latency_ms"], builds
    )
    line, *cut = figure["data"]
    tops = [y + reach for y, reach in zip(line["y"], line["error_y"]["array"], strict=True)]
    assert tops[-1] == pytest.approx(cut[-1]["y"][0])
    assert [mark["x"] for mark in cut] == [["2.9.0"], ["2.9.0"]]
    assert cut[-1]["marker"]["symbol"] == "triangle-up-open"


def test_series_page_keeps_its_axis_in_the_address(two_releases: None, reader: Client) -> None:
    shown = text(reader, f"/series/{GPT2}/?axis=release")
    assert '<option value="" selected> release</option>' in shown  # the default: in turn
    assert "axis=release" in shown.partition("data-figure=")[2][:200]


# --- Kept answers
def test_answer_is_kept_only_while_the_data_are_the_same(
    two_releases: None, reader: Client
) -> None:
    address = COMPARE.replace("/?", "/export.csv?")
    before = reader.get(address).content
    assert reader.get(address).content == before
    job = Job.objects.filter(
        run__build__label=releases.NEW, benchmark__model="llama", config__name="eager"
    ).first()
    assert job is not None
    series = Series.objects.get(data__job=job, metric="latency_ms")
    triage.mark_invalid(
        series=series,
        job=job,
        reason="a fan had failed",
        by=None,
    )
    assert reader.get(address).content != before
