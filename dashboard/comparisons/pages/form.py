"""The form of a comparison: what an address says of its two sides."""

from collections.abc import Sequence

from django.http import Http404, HttpRequest

from dashboard.comparisons.selectors.measured_builds import MeasuredBuild
from dashboard.comparisons.selectors.side_choice import (
    Choice,
    NotMeasuredError,
    RequestedSide,
    choose_sides,
)


def choose(request: HttpRequest, measured: Sequence[MeasuredBuild]) -> Choice | None:
    """The two sides that the address names; None: there are no two builds to choose.

    `new_machine`, `new_track` and `new_config` are the new side's where they differ. Raises Http404
    where the address names what was not measured.
    """

    def named(name: str) -> str:
        return request.GET.get(name, "").strip()

    base = RequestedSide(named("base"), named("machine"), named("track"), named("config"))
    new = RequestedSide(
        build=named("new"),
        machine=named("new_machine") or base.machine,
        track=named("new_track") or base.track,
        config=named("new_config") or base.config,
    )
    try:
        return choose_sides(base, new, measured)
    except NotMeasuredError as error:
        raise Http404(str(error)) from None
