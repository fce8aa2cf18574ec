"""Actions of the drill on the running system: measure, change the build, see alerts."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING

from django.utils import timezone

from dashboard.catalog.services.builds import add_variant
from dashboard.models import (
    AlertGroup,
    AlertState,
    Benchmark,
    Channel,
    Delivery,
    DetectorState,
    Kind,
    Purpose,
    Rule,
    Run,
    TorchBuild,
    Track,
)
from dashboard.runs.services.run_state import is_over
from dashboard.runs.services.runs import cancel_run, trigger_run
from tests.end_to_end.drill_injections import OWN_MLP

if TYPE_CHECKING:
    from tests.end_to_end.drill_injections import Injection

QUICK = {"budget_s": 1, "single_steps": 0}
PATIENCE_S = 3600
HELLO_S = 300
CHANNELS = 2  # a mail server and a webhook
DELIVERY_S = 180  # how long a message may take to both
BACK_ROUNDS = 8
SETTLED = (AlertState.SUSPECTED, AlertState.CONFIRMING)


@dataclass(frozen=True)
class Finding:
    """Finding of the site on an injection.

    points: rounds until the first alert; 0 where none came.
    effects: by metric, in percent; None where it has no percent.
    others: what else raised an alert meanwhile, in words.
    """

    title: str = ""
    metric: str = "nothing"
    points: int = 0
    cause: str = "-"
    state: str = "-"
    group: int | None = None
    effects: Mapping[str, float | None] = field(default_factory=dict)
    others: tuple[str, ...] = ()


class DrillSite:
    """The machine and track that `make up` made, measured as a schedule would."""

    def __init__(self) -> None:
        self.track = Track.objects.select_related("build").get(key="local")
        assert self.track.build is not None
        self.base: TorchBuild = self.track.build
        first = Run.objects.order_by("pk").first()
        assert first is not None
        self.machine = first.machine
        for run in Run.objects.filter(purpose=Purpose.MANUAL):
            # The first run that `make up` triggers measures what the drill does not need
            cancel_run(run=run)
        # The worker says what its files of own models offer soon after it has started
        wait_for(lambda: Benchmark.objects.filter(name=OWN_MLP, retired=False).exists(), HELLO_S)

    @property
    def rounds(self) -> int:
        """Number of times that the track was measured."""
        return Run.objects.filter(purpose=Purpose.SCHEDULED).values("label").distinct().count()

    def notify(self, *urls: str) -> None:
        """Have every event sent to these channels at once."""
        rule, _ = Rule.objects.get_or_create(
            name="Drill", defaults={"states": ["confirmed", "recovered"]}
        )
        Channel.objects.filter(name__startswith="drill").delete()
        for number, url in enumerate(urls):
            rule.channels.add(Channel.objects.create(name=f"drill {number}", url=url))

    def measure(
        self,
        build: TorchBuild,
        parts: "Sequence[Injection]",
        left: int = 0,
    ) -> None:
        """One round of what these parts need, each case once, on a build, until all is judged.

        left: rounds before the first injection.
        """
        cases = set()
        for part in parts:
            cases |= {(*case, part.starts) for case in part.cases(left)}
        label, started = f"round {self.rounds + 1}", time.monotonic()
        runs = [
            trigger_run(
                build=build.label,
                machine=self.machine.key,
                track=self.track.key,
                benchmarks=[benchmark],
                configs=[config],
                purpose=Purpose.SCHEDULED,
                label=label,
                measure={**QUICK, "starts": [*starts]},
            )
            for benchmark, config, starts in sorted(cases)
        ]
        wait_for(lambda: all(is_over(Run.objects.get(pk=run.pk).state) for run in runs))
        wait_for(lambda: not DetectorState.objects.filter(due=True).exists())
        print(f"  {label} on {build}: {time.monotonic() - started:.0f} s", flush=True)

    def inject(self, injection: "Injection") -> Finding:
        """Measure with the change until it has an alert that was measured again."""
        since, build = timezone.now(), self.base
        if injection.inductor or injection.env:
            build = add_variant(
                base=self.base,
                name=f"drill-{injection.name}",
                inductor=injection.inductor,
                env=injection.env,
            )
        for points in range(1, injection.rounds + 1):
            self.measure(build, [injection])
            for group in self.opened_since(since):
                if group.alerts.filter(series__metric__in=injection.metrics).exists():
                    return self.finding(group, since, points)
        return Finding()

    def opened_since(self, since: datetime) -> list[AlertGroup]:
        """Groups that were opened since, except for missing reports, oldest first."""
        groups = AlertGroup.objects.filter(created_at__gte=since, track=self.track)
        return list(groups.exclude(kind=Kind.SILENCE).order_by("pk"))

    def finding(self, group: AlertGroup, since: datetime, points: int) -> Finding:
        """Return what became of the group, once it is measured again and its messages are sent."""
        first = self.opened_since(since)[0]
        wait_for(lambda: AlertGroup.objects.get(pk=group.pk).state not in SETTLED)
        group.refresh_from_db()
        if group.state == AlertState.CONFIRMED:
            wait_until_sent(group)
        alerts = group.alerts.select_related("series__config")
        series = {f"{alert.series.metric} {alert.series.config.name}" for alert in alerts}
        effects = dict[str, float | None]()
        for alert in alerts:
            effects[alert.series.metric] = alert.effect if alert.unit == "percent" else None
        others = AlertGroup.objects.filter(pk__gte=first.pk, track=self.track)
        others = others.exclude(pk=group.pk).filter(alerts__isnull=False).distinct()
        return Finding(
            title=group.title,
            metric=", ".join(sorted(series)),
            points=points,
            cause=group.cause,
            state=group.state,
            group=group.pk,
            effects=effects,
            others=tuple(f"{other.title} ({other.state})" for other in others),
        )

    def set_back(self, injection: "Injection", finding: Finding) -> str:
        """Measure the plain build until the alert has recovered; in words."""
        if finding.group is None:
            return "nothing to set back"
        for points in range(1, BACK_ROUNDS + 1):
            self.measure(self.base, [injection])
            group = AlertGroup.objects.get(pk=finding.group)
            if group.state == AlertState.RECOVERED:
                wait_until_sent(group)
                return f"recovered after {points} points"
        still = group.alerts.filter(recovered_at=None).values_list("series__metric", flat=True)
        return f"{group.state} after {BACK_ROUNDS} points; not back: {', '.join(still)}"

    def control(self, parts: "Sequence[Injection]", rounds: int) -> list[str]:
        """Measure the plain build without any change; the titles of the alerts that it raised."""
        since = timezone.now()
        for _ in range(rounds):
            self.measure(self.base, parts)
        return [group.title for group in self.opened_since(since)]


def wait_until_sent(group: AlertGroup) -> None:
    """Until both channels have had the group's present state."""
    sent = Delivery.objects.filter(
        event__group=group,
        event__state=group.state,
        state="sent",
    )
    wait_for(lambda: sent.count() >= CHANNELS, DELIVERY_S)


def wait_for(condition: Callable[[], bool], seconds: float = PATIENCE_S) -> None:
    """Until it is so, or for so long; what is not so by then shows in the report."""
    deadline = time.monotonic() + seconds
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.5)
