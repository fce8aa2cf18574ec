"""The recorded histories of `make demo`: what the site concludes when they are replayed."""

import io
import json
from datetime import timedelta
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.utils import timezone

from dashboard.catalog.services.suite_catalog import sync_catalog
from dashboard.demo.services.history_replay import replay_history
from dashboard.models import AlertEvent, AlertGroup, Job, Run, Worker
from dashboard.results.services.import_files import sources_in
from dashboard.runs.selectors.runs import ACTIVE
from tests.builders import alerting, site
from tests.builders.reading import text

pytestmark = pytest.mark.django_db
HISTORIES = Path(__file__).parents[2] / "data" / "histories"
HISTORY = HISTORIES / "cpu_history"
RMS_NORM = (
    "rms_norm.smoke.inference.float32.static.b256",
    "rms_norm.standard.inference.bfloat16.static.b16384",
)
MLP = "mlp.smoke.training.float32.static.b64"
ROUNDS = 24 + 6


@pytest.fixture
def catalog(tmp_path: Path) -> Path:
    """A catalog that has the benchmarks of the histories, also known to the site."""
    made = site.catalog()
    made["benchmarks"] += [site.describe(name, "kernels", ["inductor"]) for name in RMS_NORM]
    if MLP not in {benchmark["name"] for benchmark in made["benchmarks"]}:
        made["benchmarks"].append(site.describe(MLP, "toy", ["inductor"]))
    sync_catalog(catalog=made)
    path = tmp_path / "catalog.json"
    path.write_text(json.dumps(made))
    return path


def demo(catalog: Path, folder: Path = HISTORY) -> dict[str, object]:
    out = io.StringIO()
    call_command("setup_demo", str(folder), "--catalog", str(catalog), "--json", stdout=out)
    summary: dict[str, object] = json.loads(out.getvalue())
    return summary


@pytest.mark.parametrize(
    ("folder", "variant", "percent"),
    [("cpu_history", "~scalar", (100, 500)), ("gpu_history", "~unfused", (49, 52))],
)
def test_recorded_change_becomes_one_confirmed_compiler_alert_on_the_recorded_days(
    catalog: Path, folder: str, variant: str, percent: tuple[float, float]
) -> None:
    demo(catalog, HISTORIES / folder)
    group = AlertGroup.objects.get()
    assert group.state == "confirmed"
    assert group.cause == "compiler"
    assert str(group.new).endswith(variant)
    assert group.alerts.filter(series__metric="latency_ms", effect__range=percent).exists()
    results = list(sources_in(HISTORIES / folder))
    span = json.loads(results[0].body)["started_at"], json.loads(results[-1].body)["finished_at"]
    assert not Run.objects.exclude(created_at__range=span).exists()
    assert not AlertEvent.objects.exclude(at__range=span).exists()


def test_four_releases_and_two_settings_become_five_alerts(catalog: Path, reader: Client) -> None:
    """The way back from a setting is not a change of its own; nothing fixed the setting."""
    of_another_track = alerting.group()
    alerting.alert(of_another_track)
    demo(catalog, HISTORIES / "releases_history")
    of_another_track.refresh_from_db()
    assert of_another_track.state == "suspected"
    groups = AlertGroup.objects.exclude(pk=of_another_track.pk).order_by("created_at")
    assert {group.cause for group in groups} == {"compiler"}
    assert [(str(group.new), group.state) for group in groups] == [
        ("2.13.0+cu130", "confirmed"),
        ("2.14.1+cu130", "confirmed"),
        ("2.15.0+cu132", "confirmed"),
        ("2.15.0+cu132~scalar", "confirmed"),
        ("2.15.0+cu132~cpp-wrapper", "confirmed"),
    ]
    calls = [group.alerts.get(series__metric="compile_calls") for group in groups[:4]]
    percents = [round(alert.effect or 0, 1) for alert in calls]
    assert percents == [3.9, 1.8, -15.1, -5.6]
    assert "of a cold compile" in text(reader, f"{groups[2].get_absolute_url()}compile/")


def test_recorded_alert_shows_the_code_before_and_after(catalog: Path, reader: Client) -> None:
    demo(catalog)
    alert_url = AlertGroup.objects.get().get_absolute_url()
    assert f'href="{alert_url}code/' in text(reader, alert_url)
    shown = text(reader, f"{alert_url}code/")
    assert "at::vec::Vectorized" in shown
    assert "There is no code to compare" not in shown


def test_replaying_again_changes_nothing(catalog: Path) -> None:
    sources = list(sources_in(HISTORY))[:2]
    assert replay_history(key="x", sources=sources) == 2
    assert replay_history(key="x", sources=sources) == 0
    assert Job.objects.count() == 2


def test_what_others_do_meanwhile_keeps_its_date(catalog: Path) -> None:
    meanwhile = timezone.now() + timedelta(hours=1)
    alerting.group()
    AlertGroup.objects.update(created_at=meanwhile)
    replay_history(key="x", sources=list(sources_in(HISTORY))[:1])
    assert AlertGroup.objects.get().created_at == meanwhile


def test_incomplete_recording_leaves_no_open_job_and_no_worker(
    catalog: Path,
) -> None:
    without_most_pairs = list(sources_in(HISTORY))[: ROUNDS + 3]
    assert replay_history(key="short", sources=without_most_pairs) == ROUNDS + 3
    assert AlertGroup.objects.get().state == "inconclusive"
    assert not Job.objects.filter(state__in=ACTIVE).exists()
    assert not Worker.objects.exists()


def test_folder_without_results_is_named_in_the_error(catalog: Path, tmp_path: Path) -> None:
    folder = tmp_path / "empty_history"
    folder.mkdir()
    with pytest.raises(
        CommandError,
        match=r"empty_history cannot be played: .* no result. Put result files .* leave it out",
    ):
        demo(catalog, folder)
