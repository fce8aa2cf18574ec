"""Accounts and groups, in the admin's looks."""

from typing import Any

from django.contrib import admin
from django.contrib.auth.admin import GroupAdmin as PlainGroupAdmin
from django.contrib.auth.admin import UserAdmin as PlainUserAdmin
from django.contrib.auth.models import Group, User
from django.http import HttpRequest
from unfold.admin import ModelAdmin
from unfold.forms import AdminPasswordChangeForm, UserChangeForm, UserCreationForm

from dashboard.accounts.services.roles import open_admin
from dashboard.ui.admin.base import PickersAdmin

admin.site.unregister(User)
admin.site.unregister(Group)


@admin.register(User)
class UserAdmin(PickersAdmin, PlainUserAdmin, ModelAdmin):  # type: ignore[type-arg]  # none at run time
    form = UserChangeForm
    add_form = UserCreationForm
    change_password_form = AdminPasswordChangeForm

    def save_related(self, request: HttpRequest, form: Any, formsets: Any, change: bool) -> None:
        super().save_related(request, form, formsets, change)
        open_admin(user=form.instance)


@admin.register(Group)
class GroupAdmin(PickersAdmin, PlainGroupAdmin, ModelAdmin):
    pass
