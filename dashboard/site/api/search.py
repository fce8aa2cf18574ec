"""The search of the box at the top of every page."""

from typing import Any
from urllib.parse import urlencode

from django.http import HttpRequest
from django.urls import reverse
from ninja import Field, Query, Router, Schema

from dashboard.accounts.access import READ
from dashboard.language.wording import plural
from dashboard.site.selectors.search import MOST, SearchResults, search
from dashboard.ui.api.schemas import absolute

router = Router(auth=READ, tags=["catalog"])


class SearchText(Schema):
    q: str = Field(
        min_length=1,
        max_length=200,
        pattern=r"^[^\x00]*\S[^\x00]*$",
        description="Words that must all be found; six at most count. A number is looked up as an "
        "alert's or a run's as well.",
        examples=["gpt2", "2.15.0", "17"],
    )


class Hit(Schema):
    kind: str = Field(description="model, benchmark, config, build, alert or run.")
    key: str = Field(description="Its name, label or number, as other calls take it.")
    text: str = Field(
        description="What it is, in words; titles and labels are people's. Of a build: its "
        "channel, and the machine that measured it last; others may have measured it, too."
    )
    url: str


class Hits(Schema):
    hits: list[Hit] = Field(description=f"At most {MOST} of each kind, the best first.")


@router.get("search", response=Hits)
def show(request: HttpRequest, words: Query[SearchText]) -> dict[str, Any]:
    """Models, benchmarks, configs, builds, alerts and runs whose names have every word."""
    results = search(words.q)
    return {"hits": _hits(results) if results else []}


def _hits(results: SearchResults) -> list[dict[str, str]]:
    matrix = reverse("benchmarks")
    hits = []
    for model, family, number in results.models:
        text = f"family {family}, {plural(number, 'benchmark')}"
        hits.append(_hit("model", model, text, f"{matrix}?{urlencode({'model': model})}"))
    for benchmark in results.benchmarks:
        text = f"model {benchmark.model}, family {benchmark.family}"
        hits.append(
            _hit("benchmark", benchmark.name, text, reverse("series", args=[benchmark.name]))
        )
    for config in results.configs:
        path = f"{matrix}?{urlencode({'sort': config.name})}"
        hits.append(_hit("config", config.name, config.about, path))
    for build in results.builds:
        hits.append(_hit("build", build.label, _build_text(build), reverse("home")))
    for alert in results.alerts:
        text = f"{alert.title}; {alert.evidence_state}, {alert.workflow_state}"
        hits.append(_hit("alert", str(alert.pk), text, alert.get_absolute_url()))
    for run in results.runs:
        text = f"{run}: {run.build.label} on {run.machine.key}, {run.state}"
        hits.append(_hit("run", str(run.pk), text, run.get_absolute_url()))
    return hits


def _build_text(build: Any) -> str:
    """build: with `machine`, as the search gives it."""
    where = f"last measured on {build.machine}" if build.machine else "not measured yet"
    return f"{build.channel}, {where}"


def _hit(kind: str, key: str, text: str, path: str) -> dict[str, str]:
    return {"kind": kind, "key": key, "text": text, "url": absolute(path)}
