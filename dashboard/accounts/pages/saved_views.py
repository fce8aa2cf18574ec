"""Pages that people saved under names, earlier: the page of tokens lists them."""

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST

from dashboard.models import SavedView
from dashboard.ui.rows import one


@require_POST
@login_required
def remove(request: HttpRequest, pk: int) -> HttpResponse:
    view = one(SavedView.objects.filter(user=request.user.pk), "saved view", pk=pk)
    view.delete()
    messages.success(request, f"Removed “{view.name}”.")
    return redirect("tokens")
