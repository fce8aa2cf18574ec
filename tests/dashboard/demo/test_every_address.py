"""Every address of the recorded demo answers."""

import json
from pathlib import Path

import pytest
from django.core.management import call_command
from django.test import Client

from benchmarks_suite.commands import listing
from dashboard.local.commands import recorded_folders
from tests.builders.spider import Spider


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.django_db
def test_every_address_of_the_recorded_demo_answers(admin_client: Client, tmp_path: Path) -> None:
    catalog = tmp_path / "catalog.json"
    catalog.write_text(json.dumps(listing.catalog()))
    call_command("setup_demo", *recorded_folders(), "--catalog", catalog)
    spider = Spider(admin_client, most_of_a_kind=12)
    spider.crawl("/")
    assert spider.offenders == []
