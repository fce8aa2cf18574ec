"""Whatever is sent to the API, it answers, and never with a server error: schemathesis over every
operation.

What is sent is drawn from the API's own description, right and wrong alike, and sent by everybody:
without a token, with a token of each scope and of all, with a worker's. FUZZ_EXAMPLES is how many
requests of each operation (10), FUZZ_SEED which.
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
from hypothesis import HealthCheck, Phase, seed, settings
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
def headers(one_connection: None) -> list[dict[str, str]]:
    """Headers of each sender; who may do everything is last, because that changes rows."""
    owner = User.objects.create_superuser("fuzz")
    expires_at = timezone.now() + timedelta(days=1)
    claimed = site.worker()
    site.claim(site.queued_job(), claimed)
    tokens = [fleet.renew_token(worker=claimed)]
    for scopes in (*([scope] for scope in Scope.values), Scope.values):
        tokens.append(api_tokens.issue(owner=owner, scopes=scopes, expires_at=expires_at)[1])
    return [{}, *({"Authorization": f"Bearer {token}"} for token in tokens)]


@schema.parametrize()
@seed(int(os.environ.get("FUZZ_SEED", "1")))
@settings(
    max_examples=int(os.environ.get("FUZZ_EXAMPLES", "10")),
    suppress_health_check=PATIENT,
    phases=[Phase.generate],
)
def test_no_request_makes_the_api_fail(case: "Case[Any]", headers: list[dict[str, str]]) -> None:
    for sender in headers:
        answer: Any = case.call(headers=sender)
        assert answer.status_code < 500, f"{case.as_curl_command(sender)}\n{answer.text}"
