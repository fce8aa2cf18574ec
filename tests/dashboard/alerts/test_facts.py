"""The facts around a change are found in what landed: controls, code, environments, suite, other
tracks, canary.
"""

from typing import Any
from unittest import mock

import pytest

from dashboard.alerts.selectors.alert_data import control_around, step_of
from dashboard.alerts.selectors.facts import facts_of
from dashboard.alerts.services import alert_groups, detection
from dashboard.models import Alert, AlertGroup, Benchmark, Track
from tests.builders import site
from tests.builders.alerting import measure, noise

pytestmark = pytest.mark.django_db
NEW = "2.14.0"
BEFORE, AFTER = 24, 8


def history(
    after: dict[str, float],
    *,
    build: str = NEW,
    then: dict[str, Any] | None = None,
    detect: bool = True,
    **fields: Any,
) -> None:
    """24 points of a latency of 100 with an eager control of 200, then 8 of the levels `after`.

    then: further fields of these.
    """
    levels = {"latency_ms": 100.0, "eager_latency_ms": 200.0}
    for hour, factor in enumerate(noise(BEFORE + AFTER, level=1.0)):
        if hour == BEFORE:
            levels |= after
            fields |= {"build": build, **(then or {})}
        values = {metric: level * factor for metric, level in levels.items()}
        measure(values, hour, **fields)
    if detect:
        detection.detect_due()


def cause() -> tuple[str, list[str]]:
    group = AlertGroup.objects.get()
    return group.cause, [piece["fact"] for piece in group.evidence]


def code(kernels: str) -> dict[str, Any]:
    return {"fingerprints": {"kernels": kernels, "wrapper": "same"}}


def test_facts_of_an_alert_that_opens_a_group_are_gathered_once() -> None:
    with mock.patch.object(alert_groups, "facts_of", wraps=facts_of) as gathering:
        history({"latency_ms": 115.0})
    assert AlertGroup.objects.count() == 1
    assert gathering.call_count == 1


def test_other_code_and_a_steady_control_blame_the_compiler() -> None:
    history({"latency_ms": 115.0}, compile=code("aaaa"), then={"compile": code("bbbb")})
    assert cause() == ("compiler", ["generated code", "eager control"])


def test_a_control_that_moved_as_much_blames_eager() -> None:
    history(
        {"latency_ms": 115.0, "eager_latency_ms": 230.0},
        compile=code("aaaa"),
        then={"compile": code("bbbb")},
    )
    assert cause()[0] == "eager"


@pytest.mark.parametrize(("eager_gb", "is_reported"), [(0.8, True), (-0.003, False)])
def test_control_of_memory_below_zero_is_not_reported(eager_gb: float, is_reported: bool) -> None:
    for hour, factor in enumerate(noise(BEFORE + AFTER, level=1.0)):
        is_new = hour >= BEFORE
        level = 0.5 if is_new else 1.0
        values = {"peak_memory_gb": level * factor, "eager_peak_memory_gb": eager_gb}
        measure(values, hour, build=NEW if is_new else site.BUILD)
    detection.detect_due()
    alert = Alert.objects.get()
    assert (facts_of(alert).control is not None) is is_reported
    assert (control_around(alert, step_of(alert)) is not None) is is_reported


def test_code_that_differs_from_job_to_job_blames_nobody() -> None:
    unstable = {"marks": [{"kind": "fingerprint_unstable", "detail": "two cold compiles differ"}]}
    history({"latency_ms": 115.0}, compile=code("aaaa"), then={"compile": code("bbbb"), **unstable})
    assert cause()[0] == "unknown"


def test_a_library_that_changed_under_one_build_is_blamed() -> None:
    other = {**site.environment("fedcba9876543210"), "libraries": {"transformers": "5.24.0"}}
    history({"latency_ms": 115.0}, build=site.BUILD, then={"environment": other})
    assert cause()[0] == "library"


def test_host_and_device_do_not_count_as_differences() -> None:
    other = site.environment("fedcba9876543210")
    other["machine"] = {**other["machine"], "host": "another"}
    history({"latency_ms": 115.0}, then={"environment": other})
    assert facts_of(Alert.objects.get()).differences == []


def test_another_suite_under_one_build_is_the_benchmarks_fault() -> None:
    history({"latency_ms": 115.0}, build=site.BUILD, then={"suite_version": "0.2.0"})
    assert cause()[0] == "benchmark"


def test_interference_since_then_under_one_build_is_the_machines() -> None:
    marks = [{"kind": "cpu_pressure", "detail": "half of the time"}]
    history({"latency_ms": 115.0}, build=site.BUILD, then={"marks": marks})
    assert cause()[0] == "machine"


def witness(**fields: Any) -> None:
    """Another series that gets slower by 15% at the same time, half an hour later each."""
    for hour, factor in enumerate(noise(BEFORE + AFTER, level=1.0, seed=4)):
        level = 115.0 if hour >= BEFORE else 100.0
        measure({"latency_ms": level * factor}, hour + 0.5, **fields)


def test_the_same_case_on_a_pinned_track_is_a_witness() -> None:
    Track.objects.create(
        key="pinned",
        kind=Track.Kind.PINNED,
        build=site.build("2.11.0"),
    )
    witness(build="2.11.0", where={"track": "pinned"})
    history({"latency_ms": 115.0})
    assert AlertGroup.objects.get(track__key="local").cause == "machine"


def test_the_canary_speaks_for_the_machine_where_the_build_stayed() -> None:
    witness(benchmark=site.GPT2, config="eager")
    history({"latency_ms": 115.0}, build=site.BUILD, detect=False)
    Benchmark.objects.filter(name=site.GPT2).update(family="machine")
    detection.detect_due()
    alert = Alert.objects.get(series__config__name="inductor")
    assert "machine canary" in {piece["fact"] for piece in alert.group.evidence}
    assert alert.group.cause == "machine"


def test_facts_say_what_a_variant_sets() -> None:
    variant = {"inductor": {"max_fusion_size": 1}, "env": {"TORCH_LOGS": "x"}}
    built = site.build("2.13.0~nofuse")
    built.variant = variant
    built.save()
    history({"latency_ms": 115.0}, build="2.13.0~nofuse")
    facts = facts_of(Alert.objects.get())
    assert facts.variant == "max_fusion_size = 1, TORCH_LOGS = x"
    assert not facts.inductor_alone


def test_jobs_of_another_variant_are_no_facts_of_a_change() -> None:
    other = site.build(f"{site.BUILD}~scalar-1")
    for hour in range(BEFORE):
        values = {"latency_ms": 100.0, "eager_latency_ms": 400.0}
        measure(values, hour - 0.5, build=other.label, compile=code("cccc"))
    history({"latency_ms": 115.0}, compile=code("aaaa"), then={"compile": code("bbbb")})
    alert = Alert.objects.get(new__label=NEW)
    facts = facts_of(alert)
    assert facts.control is not None
    assert facts.control.effect == pytest.approx(0, abs=1)
    assert facts.code is not None
    assert facts.code.before["kernels"] == {"aaaa"}


@pytest.mark.parametrize(("status", "blamed"), [("pass", "compiler"), ("fail_accuracy", "unknown")])
def test_a_case_that_fails_where_eager_passes_blames_the_compiler(status: str, blamed: str) -> None:
    for config, then in (("eager", status), ("inductor", "fail_accuracy")):
        measure({"latency_ms": 100.0}, 0, config=config)
        measure(
            {"latency_ms": 100.0},
            1 if config == "eager" else 1.01,
            config=config,
            build=NEW,
            status=then,
        )
    detection.detect_due()
    assert Alert.objects.get(series__config__name="inductor").group.cause == blamed
