"""Instructions on the webhook in docs/alerts.md, run as a reader would."""

import json
import re
import time
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from dashboard.alerts.pages.alerts import KEYS
from dashboard.notifications.services.deliveries import RETRY_AFTER_S
from dashboard.notifications.transports import webhook

DOCS = (Path(__file__).parents[3] / "docs" / "alerts.md").read_text()
SCHEMA = json.loads(Path(webhook.__file__).with_name("webhook.v1.json").read_text())
BODY = b'{"schema": "webhook.v1"}'


def block(language: str) -> str:
    fence = re.search(rf"```{language}\n(.*?)```", DOCS, re.DOTALL)
    assert fence
    return fence[1]


@pytest.fixture
def is_genuine() -> Any:
    names: dict[str, Any] = {}
    exec(block("python"), names)
    return names["is_genuine"]


def test_documented_verification_accepts_our_signature(is_genuine: Any) -> None:
    headers = webhook.headers_for(BODY, "s3cret", "5", int(time.time()))
    assert is_genuine(BODY, headers, "s3cret")


@pytest.mark.parametrize(
    ("body", "secret", "age_s"),
    [
        (b"{}", "s3cret", 0),
        (BODY, "other", 0),
        (BODY, "s3cret", 900),
    ],
)
def test_documented_verification_refuses_forged_and_old_deliveries(
    is_genuine: Any, body: bytes, secret: str, age_s: int
) -> None:
    headers = webhook.headers_for(BODY, "s3cret", "5", int(time.time()) - age_s)
    assert not is_genuine(body, headers, secret)


def test_documented_example_fits_the_schema() -> None:
    checker = jsonschema.FormatChecker()
    validator = jsonschema.Draft202012Validator(SCHEMA, format_checker=checker)
    assert list(validator.iter_errors(json.loads(block("json")))) == []


def test_every_key_of_the_inbox_is_documented() -> None:
    for keys, about in KEYS:
        for key in keys.split(", "):
            assert re.search(rf"`{re.escape(key)}`.*", DOCS), (key, about)


def test_documented_retry_times_are_those_of_the_code() -> None:
    assert RETRY_AFTER_S == (60, 300, 1800, 7200, 21600)
    assert "after 1 and 5 minutes, half an hour, 2 and 6 hours" in DOCS
