"""Saved views: the menu in the head of every page, and the page that manages them."""

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.views import LoginView
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST

from dashboard.accounts.selectors import saved_views
from dashboard.accounts.services import saved_views as service
from dashboard.language.errors import ActionNotAllowed
from dashboard.models import SavedView
from dashboard.ui.pages.parameters import own_address
from dashboard.ui.rows import one


def listing(request: HttpRequest) -> HttpResponse:
    """All of them; for htmx, when the menu is opened, the menu with the page that it is on."""
    context = {"views": saved_views.of_user(request.user.pk)}
    if request.headers.get("HX-Target") != "views":
        return render(request, "accounts/saved_views.html", context)
    opened_at = request.htmx.current_url_abs_path or "/"  # type: ignore[attr-defined]
    return render(request, "accounts/_saved_views.html", {**context, "at": opened_at})


@require_POST
@login_required
def save(request: HttpRequest) -> HttpResponse:
    """Keep a page under a name."""
    address = request.POST.get("address", "")
    assert request.user.pk is not None
    try:
        name = request.POST.get("name", "")
        view = service.save(user_id=request.user.pk, name=name, address=address)
        messages.success(request, f"Saved as “{view.name}”: find it under Views.")
    except ActionNotAllowed as refusal:
        messages.error(request, str(refusal))
    return redirect(own_address(address, "saved_views"))


@require_POST
@login_required
def change(request: HttpRequest, pk: int) -> HttpResponse:
    """Rename, remove, or make it where the person comes in: ``act``."""
    view = one(SavedView.objects.filter(user=request.user.pk), "saved view", pk=pk)
    act = request.POST.get("act", "")
    try:
        if act == "rename":
            service.rename(view=view, name=request.POST.get("name", ""))
        elif act == "remove":
            view.delete()
        elif act == "default":
            service.make_default(user_id=view.user_id, view=view)
        elif act == "no_default":
            service.make_default(user_id=view.user_id, view=None)
    except ActionNotAllowed as refusal:
        messages.error(request, str(refusal))
    return redirect("saved_views")


class SignIn(LoginView):
    """Takes people where they wanted to go; without such a wish to their default view."""

    template_name = "accounts/sign_in.html"
    redirect_authenticated_user = True

    def get_redirect_url(self, request: HttpRequest | None = None) -> str:
        """Empty where the overview alone was asked for: nobody chose it."""
        address = super().get_redirect_url()
        return "" if address == reverse("overview") else address

    def get_default_redirect_url(self) -> str:
        chosen = saved_views.default_address(self.request.user.pk)
        return chosen or super().get_default_redirect_url()
