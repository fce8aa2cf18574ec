"""The client of the worker API: what each answer means."""

import time

import pytest

from runner.shared_memory import SharedFlag
from runner.site import NotAllowed, RequestRefused, Site, SiteError, StaleAttempt, Unreachable
from tests.builders.site_server import TOKEN, SiteServer


@pytest.mark.parametrize(
    ("status", "meaning"),
    [
        (409, StaleAttempt),
        (413, RequestRefused),
        (422, RequestRefused),
        (404, RequestRefused),
        (401, NotAllowed),
        (302, NotAllowed),
    ],
)
def test_refusal_has_its_own_error_and_is_not_tried_again(
    site: SiteServer, client: Site, status: int, meaning: type[SiteError]
) -> None:
    site.refuse["alive"] = (status, "why not")
    call = r"POST http://127.0.0.1:\d+/api/v1/worker/alive"
    with pytest.raises(meaning, match=rf"{call} answered \d+"):
        client.alive("boot")
    assert len(site.calls) == 1


def test_server_error_is_tried_again_until_it_passes(site: SiteServer, client: Site) -> None:
    site.add("job")
    site.refuse["claim"] = (503, "restarting")
    site.forgive_after = 3
    assert client.claim("job", 1, "boot").job["job_id"] == "job"
    assert len(site.calls) == 3


def test_patience_ends(site: SiteServer, client: Site) -> None:
    site.stop()
    started = time.monotonic()
    with pytest.raises(Unreachable, match="Connection refused"):
        client.hello({"boot_id": "boot"}, patience_s=0.5)
    assert time.monotonic() - started < 3
    site.start()


def test_worker_that_stops_does_not_wait(site: SiteServer) -> None:
    stopping = SharedFlag()
    stopping.set()
    site.refuse["claim"] = (503, "restarting")
    with pytest.raises(Unreachable):
        Site(site.url, TOKEN, stopping).claim("job", 1, "boot")
    assert len(site.calls) == 1


def test_answer_of_another_program_is_an_error(site: SiteServer, client: Site) -> None:
    site.refuse["hello"] = (200, "another program")
    with pytest.raises(SiteError, match="are worker and site of one version"):
        client.hello({"boot_id": "boot"})
