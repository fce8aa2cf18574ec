"""Result documents make the same sides as the rows that they become."""

import json

import numpy as np
import pytest

from dashboard.comparisons.core.matching import Side
from dashboard.comparisons.core.sides import side_from_results
from dashboard.comparisons.core.tables import compare
from dashboard.comparisons.selectors import versions
from dashboard.language.metrics import METRICS
from dashboard.models import Machine, TorchBuild
from dashboard.results.core.result_format import parse_result
from dashboard.results.core.untrusted import parse_json
from dashboard.results.services.import_existing import ImportSource
from dashboard.results.services.imports import import_results
from tests.builders import releases

READ = ("latency_ms", "eager_latency_ms", "speedup", "compile_calls")


def documents(build: str, seed: int) -> list[bytes]:
    rng = np.random.default_rng(seed)
    changed = releases.MODELS["gpt2"] if build == releases.NEW else releases.Release("llm")
    bodies = []
    for config in ("eager", "inductor"):
        for repeat in range(3):
            document = releases.document(rng, build, "gpt2", "training", config, changed, repeat)
            bodies.append(json.dumps(document).encode())
    return bodies


def from_files(bodies: list[bytes]) -> Side:
    return side_from_results(parse_result(parse_json(body)) for body in bodies)


def from_rows(bodies: list[bytes]) -> list[Side]:
    sources = [ImportSource(f"{number}", body) for number, body in enumerate(bodies)]
    import_results(sources=sources, machine="h100")
    source = versions.SideSource(Machine.objects.get(key="h100").pk)
    builds = [TorchBuild.objects.get(label=label) for label in (releases.BASE, releases.NEW)]
    return versions.sides([(source, build.pk) for build in builds], READ)


@pytest.mark.django_db
def test_files_and_rows_give_the_same_comparison() -> None:
    base, new = documents(releases.BASE, 1), documents(releases.NEW, 2)
    metric = METRICS["latency_ms"]
    old, fresh = from_rows([*base, *new])
    rows = compare(old, fresh, metric).rows
    files = compare(from_files(base), from_files(new), metric).rows
    assert len(rows) == len(files) == 2
    for row, file in zip(rows, files, strict=True):
        assert row.change.pairs == file.change.pairs == 3
        assert row.change.effect == pytest.approx(file.change.effect, abs=1e-12)
        assert row.change.high == pytest.approx(file.change.high, rel=1e-9)


def test_failure_is_counted_by_status_and_has_no_samples() -> None:
    rng = np.random.default_rng(1)
    failing = releases.MODELS["captioning"]
    body = releases.document(rng, releases.NEW, "captioning", "training", "inductor", failing, 0)
    [measured] = side_from_results([parse_result(body)]).values()
    assert measured.samples == {}
    assert measured.failures == {"fail_to_compile": 1}


def test_spread_within_a_process_is_that_of_its_interval() -> None:
    measured = next(iter(from_files(documents(releases.BASE, 1)).values()))
    [samples] = measured.samples["latency_ms"]
    assert samples.level is not None
    assert samples.level.within == pytest.approx((0.002 / 3.919928) ** 2, rel=0.01)


@pytest.mark.parametrize(
    ("stage", "error", "status"),
    [
        ("import", {"type": "ImportError"}, "unsupported"),
        ("import", None, "unsupported"),
        ("import", {"type": "AttributeError"}, "fail_to_run"),
        ("compile", None, "fail_to_run"),
    ],
)
def test_failed_import_and_early_death_are_of_the_environment(
    stage: str, error: dict[str, str] | None, status: str
) -> None:
    body = json.loads(documents(releases.NEW, 1)[0])
    body |= {"status": "fail_to_run", "stage": stage, "error": error}
    [measured] = side_from_results([parse_result(body)]).values()
    assert measured.failures == {status: 1}
