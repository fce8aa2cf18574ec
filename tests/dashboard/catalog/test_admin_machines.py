"""Machines in the admin: what a form refuses before a run would."""

import pytest
from django.test import Client
from django.urls import reverse

from dashboard.models import Benchmark, Machine
from tests.builders import site
from tests.builders.reading import text

pytestmark = pytest.mark.django_db
ADD = reverse("admin:dashboard_machine_add")


def add(client: Client, size: str) -> None:
    fields = {"key": "h200", "device_kind": "cuda", "default_size": size, "timeout_s": 900}
    client.post(ADD, fields)


def test_size_that_no_benchmark_has_is_refused(admin_client: Client) -> None:
    add(admin_client, "huge")
    assert not Machine.objects.exists()


def test_size_of_a_benchmark_is_offered(admin_client: Client) -> None:
    site.worker()
    Benchmark.objects.update(size="large")
    add(admin_client, "large")
    assert Machine.objects.get(key="h200").default_size == "large"


@pytest.mark.parametrize("size", ["smoke", "standard"])
def test_sizes_of_the_suite_are_offered_before_the_first_worker(
    admin_client: Client, size: str
) -> None:
    add(admin_client, size)
    assert Machine.objects.get().default_size == size


def test_size_that_a_machine_has_stays_chosen(admin_client: Client) -> None:
    machine = site.machine()
    Machine.objects.update(default_size="huge")
    page = text(admin_client, reverse("admin:dashboard_machine_change", args=[machine.pk]))
    assert '<option value="huge" selected>' in page


def test_new_machine_begins_with_the_usual_size(admin_client: Client) -> None:
    assert '<option value="smoke" selected>' in text(admin_client, ADD)
