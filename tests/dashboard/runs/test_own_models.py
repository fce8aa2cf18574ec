"""Own models on the site: those that workers bring, and those of repositories pinned to a
commit.
"""

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from dashboard.catalog.core.plan import PlanError
from dashboard.models import Benchmark, ModelRepository, Worker
from dashboard.runs.services import fleet, own_models
from tests.builders import site
from tests.builders.reading import page_text

pytestmark = pytest.mark.django_db
MINE = "mine.own.inference.float32.static.b8"
FIRST, SECOND = "a" * 40, "b" * 40


def hello(worker: Worker, *names: str, problem: str = "") -> None:
    entries = [
        {**site.describe(name, "own", ["eager"]), "source": "/models/mine.py"} for name in names
    ]
    catalog = {**site.catalog(), "benchmarks": [*site.catalog()["benchmarks"], *entries]}
    sources = [
        {
            "source": "/models/mine.py",
            "benchmarks": len(names),
            "problem": problem,
        }
    ]
    fleet.hello(
        worker=worker,
        boot_id=site.BOOT,
        device="cpu",
        facts={"sources": sources},
        catalog=catalog,
        builds=[],
    )


def repository(commit: str = FIRST) -> ModelRepository:
    made = ModelRepository(
        key="ours",
        url="https://example.org/ours.git",
        commit=commit,
    )
    own_models.save_repository(repository=made)
    return made


def report(worker: Worker, *names: str, revision: int = 1, problem: str = "") -> int:
    entries = [site.describe(name, "own", ["eager"]) for name in names]
    return own_models.record_repository(
        worker=worker, key="ours", revision=revision, benchmarks=entries, problem=problem
    )


def planned() -> list[str]:
    return [job.benchmark.name for job in site.run(benchmarks=[], configs=[]).jobs.all()]


def test_an_own_model_is_in_the_default_runs_of_the_machine_that_has_it() -> None:
    hello(site.worker(), MINE)
    assert MINE in planned()


def test_another_machine_does_not_plan_it_and_says_where_it_is() -> None:
    hello(site.worker("w2", on="other"), MINE)
    assert MINE not in planned()
    with pytest.raises(PlanError, match="is an own model that only workers of other have"):
        site.run(MINE)


def test_own_model_without_a_worker_is_no_longer_planned() -> None:
    worker = site.worker()
    hello(worker, MINE)
    hello(worker)
    assert Benchmark.objects.get(name=MINE).retired
    hello(worker, MINE)
    assert not Benchmark.objects.get(name=MINE).retired


def test_a_repositorys_benchmarks_are_measured_everywhere_at_the_pinned_commit() -> None:
    repository()
    report(site.worker("w2", on="other"), MINE)
    job = site.run(MINE).jobs.get()
    pinned = {"url": "https://example.org/ours.git", "commit": FIRST, "revision": 1}
    assert job.spec["repository"] == pinned
    assert MINE in planned()


def test_another_commit_is_another_version_of_its_benchmarks() -> None:
    pinned, worker = repository(), site.worker()
    report(worker, MINE)
    pinned.commit = SECOND
    own_models.save_repository(repository=pinned)
    assert own_models.pinned_repositories()[0]["revision"] == 2
    report(worker, MINE, revision=2)
    assert Benchmark.objects.get(name=MINE).version == 2


def test_a_report_of_an_earlier_revision_changes_nothing() -> None:
    pinned = repository()
    pinned.commit = SECOND
    own_models.save_repository(repository=pinned)
    assert report(site.worker(), MINE, revision=1) == 0
    assert not Benchmark.objects.filter(name=MINE).exists()


def test_saving_the_same_commit_makes_no_new_revision() -> None:
    pinned = repository()
    own_models.save_repository(repository=pinned)
    assert pinned.revision == 1


def test_benchmark_dropped_by_its_repository_is_no_longer_planned() -> None:
    repository()
    report(site.worker(), MINE)
    report(site.worker("w2"))
    assert Benchmark.objects.get(name=MINE).retired


def test_name_of_another_source_is_left_out_and_reported() -> None:
    repository()
    assert report(site.worker(), MINE, site.MLP) == 1
    problem = ModelRepository.objects.get().problem
    assert problem == f"{site.MLP} is left out: another source has one of that name"


def test_a_workers_file_does_not_replace_a_repositorys_model() -> None:
    repository()
    worker = site.worker()
    report(worker, MINE)
    hello(worker, MINE)
    assert Benchmark.objects.get(name=MINE).machines == []


def test_deleting_a_repository_keeps_what_was_measured() -> None:
    pinned = repository()
    report(site.worker(), MINE)
    own_models.delete_repository(repository=pinned)
    benchmark = Benchmark.objects.get(name=MINE)
    assert benchmark.repository is None
    assert benchmark.retired


def test_workers_fetch_and_report_repositories_over_the_api() -> None:
    repository()
    _, token = fleet.add_worker(name="w1", machine=site.machine())
    client = Client(headers={"Authorization": f"Bearer {token}"})
    body: dict[str, Any] = {
        "boot_id": site.BOOT,
        "device": "cpu",
        "catalog": site.catalog(),
    }
    client.post("/api/v1/worker/hello", body, content_type="application/json")
    alive = client.post(
        "/api/v1/worker/alive", {"boot_id": site.BOOT}, content_type="application/json"
    ).json()
    assert alive["repositories"][0]["commit"] == FIRST
    offer = {
        "key": "ours",
        "revision": 1,
        "benchmarks": [site.describe(MINE, "own")],
        "problem": "x.py: line 1",
    }
    answer = client.post("/api/v1/worker/repositories", offer, content_type="application/json")
    assert answer.json() == {"noted": 1}
    offer["benchmarks"] = [{"name": "half"}]
    answer = client.post("/api/v1/worker/repositories", offer, content_type="application/json")
    assert answer.status_code == 422


def test_the_fleet_page_shows_what_is_wrong_with_a_file_and_with_a_repository(
    reader: Client,
) -> None:
    repository()
    worker = site.worker()
    hello(worker, MINE, problem="Traceback: <b>no module</b>")
    report(worker, problem="broken.py: line 3: invalid syntax")
    page = page_text(reader.get(reverse("fleet")))
    assert "Traceback: &lt;b&gt;no module&lt;/b&gt;" in page
    assert "broken.py: line 3: invalid syntax" in page


def test_staff_without_the_right_cannot_register_a_repository(
    client: Client, django_user_model: type[User]
) -> None:
    client.force_login(django_user_model.objects.create_user("clerk", is_staff=True))
    assert client.get(reverse("admin:dashboard_modelrepository_add")).status_code == 403


def test_administrator_registers_one_and_is_warned_that_it_runs_code(operator: Client) -> None:
    form = {"key": "ours", "url": "https://example.org/ours.git", "commit": FIRST}
    page = page_text(
        operator.post(reverse("admin:dashboard_modelrepository_add"), form, follow=True)
    )
    assert "run its code: revision 1" in page


@pytest.mark.parametrize(
    "url",
    [
        "ext::sh -c id",
        "--upload-pack=id",
        "https://user:secret@example.org/a.git",
        "http://example.org/a",
        "/models",
        "ssh://-oProxyCommand=id/a",
        "git@-oProxyCommand=id:a",
        "file://host/a b",
    ],
)
def test_an_address_that_git_would_run_or_that_holds_a_password_is_refused(
    operator: Client, url: str
) -> None:
    operator.post(
        reverse("admin:dashboard_modelrepository_add"),
        {
            "key": "ours",
            "url": url,
            "commit": FIRST,
        },
    )
    assert not ModelRepository.objects.exists()
