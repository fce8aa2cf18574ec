"""Every address that a page of the site names answers, for everybody.

The site has every kind of thing that pages show. `make test` opens one address of each kind, and
the page of every job that differs from the others; `make test-slow` many of each.
"""

from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction
from django.template import Context, Template
from django.test import Client, override_settings

from dashboard.accounts.services.roles import Role, assign
from dashboard.models import AlertGroup, Job
from tests.builders.spider import Link, Spider, lacking_attributes
from tests.builders.varied_site import varied_site

pytestmark = pytest.mark.django_db
LOGIN_REQUIRED = "django.contrib.auth.middleware.LoginRequiredMiddleware"
ANONYMOUS = "anonymous"


@pytest.fixture(scope="module")
def superuser(django_db_setup: None, django_db_blocker: Any) -> Iterator[Client]:
    """Client that may open every page of the varied site; made once for this file."""
    with django_db_blocker.unblock(), transaction.atomic():
        varied_site()
        client = Client()
        client.force_login(User.objects.create_superuser("superuser"))
        yield client
        transaction.set_rollback(True)


def starts() -> list[str]:
    """Home, every alert, and of each kind of job one."""
    kind = ("state", "status", "run__purpose", "run__track__key")
    of_a_kind = Job.objects.order_by(*kind).distinct(*kind)
    alerts = [group.get_absolute_url() for group in AlertGroup.objects.all()]
    return ["/", *alerts, *(f"/jobs/{job.pk}/" for job in of_a_kind)]


@pytest.fixture(scope="module")
def sampled(superuser: Client) -> Spider:
    """A spider that has opened one address of each kind."""
    spider = Spider(superuser)
    with lacking_attributes() as lacking:
        spider.crawl(*starts())
    spider.lacking = lacking
    return spider


def test_one_address_of_each_kind_answers(sampled: Spider) -> None:
    assert sampled.offenders == []


def test_templates_ask_only_for_what_objects_have(sampled: Spider) -> None:
    assert sampled.lacking == set()


def test_attribute_that_an_object_lacks_is_noted() -> None:
    with lacking_attributes() as lacking:
        Template("{{ job.nothing }} {{ job.uuid }}").render(Context({"job": Job()}))
    assert lacking == {"Job.nothing"}


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_every_address_answers(superuser: Client) -> None:
    spider = Spider(superuser, most_of_a_kind=25)
    spider.crawl(*starts())
    assert spider.offenders == []


def test_spider_names_an_address_that_does_not_answer(superuser: Client) -> None:
    spider = Spider(superuser)
    spider.visit(Link("/runs/999999/", named_by="/runs/"))
    assert spider.offenders == ["1 × 404 /runs/999999/ (in /runs/) "]


def seen_by(who: str) -> AbstractContextManager[Any]:
    """The site as it is set up for this person: a stranger reads a public site."""
    if who != ANONYMOUS:
        return nullcontext()
    middleware = [name for name in settings.MIDDLEWARE if name != LOGIN_REQUIRED]
    return override_settings(MIDDLEWARE=middleware, PUBLIC_READ=True)


@pytest.mark.parametrize("who", [ANONYMOUS, *Role])
def test_no_page_fails_for_a_role(who: str, sampled: Spider) -> None:
    spider = Spider(Client())
    if who != ANONYMOUS:
        person = User.objects.create_user(who)
        assign(user=person, role=Role(who))
        spider.client.force_login(person)
    with seen_by(who):
        for link in {visit.link.route: visit.link for visit in sampled.visits}.values():
            spider.visit(link)
    assert [str(visit) for visit in spider.visits if visit.status >= 500] == []
