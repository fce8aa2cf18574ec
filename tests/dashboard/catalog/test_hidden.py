"""Machines that are no default: imported, hidden, or without a worker."""

import pytest
from django.core.management import call_command
from django.test import Client

from dashboard.catalog.core.plan import PlanError
from dashboard.catalog.selectors.lookups import only_machine
from dashboard.models import Machine, Purpose, Rule, Run, Track
from dashboard.runs.services.fleet import add_worker
from tests.builders import releases
from tests.builders.api import Caller, token
from tests.builders.reading import text

pytestmark = pytest.mark.django_db


def _add_machine(key: str) -> Machine:
    return Machine.objects.create(key=key, device_kind="cpu")


def test_only_machine_is_the_one_with_a_worker() -> None:
    own = _add_machine("cpu-2c")
    _add_machine("a100")
    add_worker(name="local", machine=own)
    assert only_machine("") == own


@pytest.mark.parametrize("with_workers", [True, False])
def test_several_machines_have_to_be_named(with_workers: bool) -> None:
    for key in ("a100", "cpu-2c"):
        machine = _add_machine(key)
        if with_workers:
            add_worker(name=key, machine=machine)
    with pytest.raises(PlanError, match=r"Name the machine \(--machine\): a100 or cpu-2c\."):
        only_machine("")


@pytest.fixture
def own_and_imported(db: None) -> None:
    """h100 as if it had been measured here, and a100, which was imported later."""
    releases.import_two_releases(models=["gpt2"], repeats=1)
    Run.objects.update(purpose=Purpose.MANUAL)
    releases.import_two_releases(
        models=["gpt2"],
        repeats=1,
        machine="a100",
        seed=2,
    )


@pytest.mark.usefixtures("own_and_imported")
@pytest.mark.parametrize("page", ["/", "/benchmarks/"])
def test_pages_open_on_what_was_measured_here(reader: Client, page: str) -> None:
    assert reader.get(page).context["place"].machine.key == "h100"


@pytest.mark.usefixtures("own_and_imported")
@pytest.mark.parametrize("page", ["/", "/benchmarks/", "/compare/"])
def test_hidden_machine_is_no_choice_but_has_its_address(reader: Client, page: str) -> None:
    Machine.objects.filter(key="a100").update(hidden=True)
    assert "a100" not in text(reader, page)
    assert "a100" in text(reader, f"{page}?machine=a100")


@pytest.mark.usefixtures("own_and_imported")
@pytest.mark.parametrize("page", ["/fleet/", "/runs/"])
def test_hidden_machine_is_left_out_of_lists(reader: Client, page: str) -> None:
    assert "a100" in text(reader, page)
    Machine.objects.filter(key="a100").update(hidden=True)
    assert "a100" not in text(reader, page)


@pytest.mark.usefixtures("own_and_imported")
def test_hidden_track_is_left_out_of_runs(reader: Client) -> None:
    Track.objects.update(hidden=True)
    assert not reader.get("/runs/").context["page"].object_list
    assert reader.get("/runs/?track=import").context["page"].object_list


@pytest.mark.usefixtures("own_and_imported")
def test_hidden_places_are_no_choice_in_the_filters_of_alerts(reader: Client) -> None:
    Machine.objects.filter(key="a100").update(hidden=True)
    Track.objects.update(hidden=True)
    page = text(reader, "/alerts/")
    assert "a100" not in page
    assert ">import<" not in page
    assert "a100" in text(reader, "/alerts/?machine=a100")


@pytest.mark.usefixtures("own_and_imported")
@pytest.mark.parametrize("kind", ["machines", "tracks"])
def test_hidden_places_are_not_listed_by_the_api(kind: str) -> None:
    Machine.objects.filter(key="a100").update(hidden=True)
    Track.objects.update(hidden=True)
    keys = [row["key"] for row in Caller(token()).get(kind)["results"]]
    assert keys == (["h100"] if kind == "machines" else [])


@pytest.mark.usefixtures("own_and_imported")
def test_search_finds_no_run_and_no_link_to_a_hidden_machine(reader: Client) -> None:
    assert "a100" in text(reader, "/search/?q=2.13.0")
    Machine.objects.filter(key="a100").update(hidden=True)
    assert "a100" not in text(reader, "/search/?q=2.13.0")


@pytest.mark.parametrize("form", ["schedule", "comparison", "bisection", "worker", "rule"])
def test_hidden_machine_is_no_choice_in_a_form_of_the_admin(
    admin_client: Client, form: str
) -> None:
    _add_machine("cpu-2c")
    Machine.objects.create(key="a100", device_kind="cuda", hidden=True)
    page = text(admin_client, f"/admin/dashboard/{form}/add/")
    assert "cpu-2c" in page
    assert "a100" not in page


def test_rule_that_has_a_hidden_machine_keeps_showing_it(admin_client: Client) -> None:
    rule = Rule.objects.create(name="ours")
    rule.machines.add(Machine.objects.create(key="a100", device_kind="cuda", hidden=True))
    assert "a100" in text(admin_client, f"/admin/dashboard/rule/{rule.pk}/change/")


def test_hiding_is_a_field_of_the_admin(operator: Client) -> None:
    machine = _add_machine("a100")
    assert 'name="hidden"' in text(operator, f"/admin/dashboard/machine/{machine.pk}/change/")


@pytest.mark.django_db
def test_command_that_lists_names_leaves_hidden_ones_out(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for key in ("a100", "cpu-2c"):
        _add_machine(key)
    Machine.objects.filter(key="a100").update(hidden=True)
    call_command("show_site")
    assert capsys.readouterr().out == "machine  cpu-2c\n"
