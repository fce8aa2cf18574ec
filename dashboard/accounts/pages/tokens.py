"""A person's own API tokens: issue one, see it once, revoke it."""

from datetime import timedelta
from typing import cast

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST

from dashboard.accounts.services import api_tokens
from dashboard.language.errors import ActionNotAllowed
from dashboard.models import ApiToken, SavedView, Scope
from dashboard.ui.rows import one

DAYS = (7, 30, 90, 365)  # how long a token may count, as the form offers it


@login_required
@never_cache
def listing(request: HttpRequest) -> HttpResponse:
    """The person's tokens; after the form, also the text of the new one, which is kept nowhere."""
    issued = _issue(request) if request.method == "POST" else ""
    now = timezone.now()
    mine = ApiToken.objects.filter(owner=_person(request))
    context = {
        "tokens": [(token, _state(token, now >= token.expires_at)) for token in mine],
        "issued": issued,
        "scopes": Scope.choices,
        "days": DAYS,
        "views": SavedView.objects.filter(user=_person(request)),
    }
    return render(request, "accounts/tokens.html", context)


@require_POST
@login_required
def revoke(request: HttpRequest, pk: int) -> HttpResponse:
    """End one of the person's own tokens."""
    token = one(ApiToken.objects.filter(owner=_person(request)), "token", pk=pk)
    api_tokens.revoke(tokens=ApiToken.objects.filter(pk=token.pk))
    messages.success(request, f"The token “{token.name}” lets nobody in any more.")
    return redirect("tokens")


def _issue(request: HttpRequest) -> str:
    """The text of the token that the form asks for; empty, with a message, where it cannot be."""
    form = request.POST
    choices = {str(days): days for days in DAYS}
    lifetime = timedelta(days=choices.get(form.get("days", ""), 0))
    try:
        _, text = api_tokens.issue(
            owner=_person(request),
            name=form.get("name", ""),
            scopes=form.getlist("scope"),
            expires_at=timezone.now() + lifetime,
        )
    except ActionNotAllowed as refusal:
        messages.error(request, str(refusal))
        return ""
    return text


def _state(token: ApiToken, is_over: bool) -> str:
    if token.revoked_at:
        return "revoked"
    if is_over:
        return "expired"
    return "active"


def _person(request: HttpRequest) -> User:
    return cast(User, request.user)
