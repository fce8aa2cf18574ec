"""The form of a comparison: what an address says of its two sides."""

from collections.abc import Sequence

from django.http import HttpRequest

from dashboard.comparisons.selectors.measured_builds import MeasuredBuild, visible
from dashboard.comparisons.selectors.side_choice import (
    Choice,
    NotMeasuredError,
    RequestedSide,
    choose_sides,
    is_called,
)
from dashboard.ui.pages.without_data import Offer, WithoutData


def choose(request: HttpRequest, measured: Sequence[MeasuredBuild]) -> Choice | None:
    """The two sides that the address names; None: there are no two builds to choose.

    `new_machine`, `new_track` and `new_config` are the new side's where they differ. Raises
    WithoutData where the address names what was not measured, or one build alone.
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
    offers = _offers(base, new, measured)
    builds = sorted({tested.label for tested in visible(measured)})
    machines = sorted({tested.machine_key for tested in visible(measured)})
    choices = {"base": builds, "new": builds, "machine": machines, "new_machine": machines}
    try:
        choice = choose_sides(base, new, measured)
    except NotMeasuredError as error:
        raise WithoutData(str(error), *offers, choices=choices) from None
    if choice is None and offers:
        reason = "A comparison needs two builds: this choice has one."
        raise WithoutData(reason, *offers, choices=choices)
    return choice


def _offers(
    base: RequestedSide, new: RequestedSide, measured: Sequence[MeasuredBuild]
) -> list[Offer]:
    """The machines, and of the machine that is named the tracks and builds, that measured two."""
    of_machine: dict[str, list[str]] = {}
    of_track: dict[str, set[str]] = {}
    for tested in visible(measured):
        labels = of_machine.setdefault(tested.machine_key, [])
        if tested.label not in labels:
            labels.append(tested.label)
        if tested.machine_key == base.machine:
            of_track.setdefault(tested.track_key, set()).add(tested.label)

    with_both: list[str] = []
    with_two: list[str] = []
    for machine, labels in sorted(of_machine.items()):
        if len(labels) > 1:
            names = base.build, new.build
            has_both = all(any(is_called(label, name) for label in labels) for name in names)
            (with_both if has_both and any(names) else with_two).append(machine)
    tracks = sorted(track for track, labels in of_track.items() if len(labels) > 1)
    builds = of_machine.get(base.machine, [])
    new_place = ["new_machine", "new_track"]
    sides = ["track", *new_place]
    offers = [
        Offer("Both builds were measured on", "machine", with_both, sides),
        Offer(
            "Machines with other builds to compare", "machine", with_two, ["base", "new", *sides]
        ),
        Offer("Tracks with two builds there", "track", tracks, ["base", "new", *new_place]),
    ]
    if len(builds) > 1:
        offers.append(Offer("Builds measured there", "base", builds, ["new", *sides]))
    return [offer for offer in offers if offer.values]
