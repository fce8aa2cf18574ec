"""Whatever is sent to the API, it answers, and never with a server error: schemathesis over every
operation.

What is sent is drawn from the API's own description, right and wrong alike. Each operation is
called by who may.
"""

import os
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
import schemathesis
from django.contrib.auth.models import User
from django.core.signals import request_finished, request_started
from django.core.wsgi import get_wsgi_application
from django.db import close_old_connections
from django.utils import timezone
from hypothesis import HealthCheck, Phase, settings
from schemathesis import Case

from dashboard.accounts.services import api_tokens
from dashboard.models import Scope
from dashboard.runs.services import fleet
from tests.builders import site

schema = schemathesis.openapi.from_wsgi("/api/v1/openapi.json", get_wsgi_application())
PATIENT = (HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.filter_too_much)


@pytest.fixture
def one_connection(db: None) -> Iterator[None]:
    """A request ends with closing its connection to the database, which here is the test's."""
    signals = (request_started, request_finished)
    for signal in signals:
        signal.disconnect(close_old_connections)
    yield
    for signal in signals:
        signal.connect(close_old_connections)


@pytest.fixture
def tokens(one_connection: None) -> dict[str, str]:
    """By who sends it: a worker's token, and one of an administrator that may everything."""
    owner, later = User.objects.create_superuser("fuzz"), timezone.now() + timedelta(days=1)
    run = site.run()
    claimed = site.worker()
    site.claim(site.queued_job(), claimed)
    assert run
    return {
        "worker": fleet.renew_token(worker=claimed),
        "person": api_tokens.issue(
            owner=owner,
            scopes=Scope.values,
            expires_at=later,
        )[1],
    }


@schema.parametrize()
@settings(
    max_examples=int(os.environ.get("FUZZ_EXAMPLES", "15")),  # more: an hour's run
    deadline=None,
    derandomize=True,
    suppress_health_check=PATIENT,
    phases=[Phase.generate],
)
def test_no_request_makes_the_api_fail(case: "Case[Any]", tokens: dict[str, str]) -> None:
    token = tokens["worker" if "/worker/" in case.path else "person"]
    answer: Any = case.call(headers={"Authorization": f"Bearer {token}"})
    assert answer.status_code < 500, f"{case.as_curl_command()}\n{answer.text}"
