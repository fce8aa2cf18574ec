"""The star next to a model: one's own models."""

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST

from dashboard.accounts.services import starred_models
from dashboard.language.errors import ActionNotAllowed
from dashboard.ui.pages.parameters import own_address


@require_POST
@login_required
def change(request: HttpRequest) -> HttpResponse:
    """Star a model, or take its star away; back to the page where that was clicked."""
    model, address = request.POST.get("model", ""), request.POST.get("address", "")
    assert request.user.pk is not None
    if request.POST.get("starred"):
        try:
            starred_models.star(user_id=request.user.pk, model=model)
        except ActionNotAllowed as refusal:
            messages.error(request, str(refusal))
    else:
        starred_models.unstar(user_id=request.user.pk, model=model)
    return redirect(own_address(address, "compare"))
