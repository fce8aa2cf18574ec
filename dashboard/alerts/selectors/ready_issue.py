"""The ready issue of an alert: what its text is made of."""

import re
import shlex
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.urls import reverse

from dashboard.alerts.core.ready_issue import IssueFacts, VersionRow
from dashboard.alerts.selectors import alert_page
from dashboard.alerts.selectors.alerts import AlertSummary
from dashboard.alerts.selectors.evidence_jobs import Side
from dashboard.alerts.selectors.facts import cause_in_words
from dashboard.alerts.selectors.since_which_build import searches
from dashboard.language.wording import plural
from dashboard.models import (
    AlertGroup,
    Bisection,
    Cause,
    Confirmation,
    EvidenceState,
    TorchBuild,
)
from dashboard.results.core import report
from dashboard.results.core.environments import environment_differences
from dashboard.results.core.structured_trace import TRACE

# Facts that speak against another cause, where they support none
_RULE_OUT = ("eager control", "pinned track", "machine canary")
_MOST_OTHERS = 20
_LOCAL_HOSTS = ("localhost", "127.0.0.1", "::1")
_SUITE = "# benchmarks_suite is part of Compilewatch, and needs torch alone: run this in a checkout"
_FLAVOUR = re.compile(r"cpu|xpu|cu\d+|rocm[\d.]+")
_LONGEST_ERROR = 4000  # characters, of its end
_VERSIONS = (
    ("PyTorch", "torch.version"),
    ("git", "torch.git_sha"),
    ("CUDA", "torch.cuda"),
    ("cuDNN", "torch.cudnn"),
    ("Triton", "torch.triton"),
    ("Python", "python"),
    ("GPU", "machine.gpu"),
    ("driver", "machine.driver"),
    ("CPU", "machine.cpu"),
    ("cores", "machine.cores"),
    ("threads", "settings.threads"),
)


def issue_facts(
    group: AlertGroup, rows: Sequence[AlertSummary], main: AlertSummary, sides: Sequence[Side]
) -> IssueFacts:
    """Facts about one alert of a group.

    rows: its alerts that stand.
    sides: base and new, of `evidence_jobs.sides`.
    """
    base, new = sides
    documents, environments = documents_of(sides)
    series = main.alert.series
    compiled = "eager" if series.config.name == "eager" else "torch.compile"
    others = []
    for row in rows:
        # A confirmation measures some of a group's series again, and not each
        is_confirmed = row.alert.confirmation == EvidenceState.CONFIRMED
        doubt = "" if is_confirmed else " (this one was not confirmed in turn)"
        if row.alert.pk != main.alert.pk:
            others.append(f"{row.sentence}{doubt}")
    where = f" on {group.machine}" if group.machine else ""
    return IssueFacts(
        title=f"[{compiled}] {group.title}",
        summary=f"`{series.benchmark.name}` with config `{series.config.name}`{where}, "
        f"torch {base.label} → {new.label}:\n\n**{main.sentence}**",
        page="" if _is_local() else f"{settings.SITE_URL}{group.get_absolute_url()}",
        how_sure=_how_sure(group, main),
        others=others[:_MOST_OTHERS],
        cause=[*_cause(group), *ablation_lines(documents)],
        ruled_out=_ruled_out(group, environments),
        since=_since(group),
        commands=commands(sides, documents),
        error=error_of(documents[1]),
        versions=versions(environments),
        links=_links(main, sides),
        missing=missing(base, new),
    )


def documents_of(sides: Sequence[Side]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Result and environment of the job that stands for each side; empty where it has none."""
    results = [side.result() for side in sides]
    documents = [result.document if result else {} for result in results]
    environments = [
        result.environment.document if result and result.environment else {} for result in results
    ]
    return documents, environments


def _how_sure(group: AlertGroup, main: AlertSummary) -> list[str]:
    confirmation = Confirmation.objects.filter(group=group).first()
    lines = []
    if main.again and confirmation:
        measured = "The new build was measured again, alone, and compared with what was recorded"
        if not confirmation.only_new:
            measured = "Both builds were measured again in turn on the same machine, each in a"
            measured += " process of its own"
        rounds = plural(main.rounds, "round")
        lines.append(f"{measured}: {main.again.text} in {rounds} (95% interval).")
    elif main.alert.confirmation:
        lines.append(f"Measured again: {main.alert.confirmation.replace('_', ' ')}.")
    if main.first and main.alert.confirmation == EvidenceState.CONFIRMED:
        before = f", {main.levels}" if main.levels else ""
        first = f"{main.first.text}{before}, in the scheduled series"
        lines.append(f"First estimate, since replaced: {first}.")
    if not main.alert.confirmation:
        lines.append("It has not been confirmed by measuring both builds again in turn.")
    return lines


def _cause(group: AlertGroup) -> list[str]:
    if group.cause == Cause.UNKNOWN:
        return ["Unknown: no evidence points to one cause."]
    lines = [f"Likely: {cause_in_words(group)}."]
    for fact in group.evidence:
        if fact.get("supports") == group.cause:
            lines.append(f"{fact['fact'].capitalize()}: {fact['says']}")
    return lines


def ablation_lines(documents: Sequence[dict[str, Any]]) -> list[str]:
    """Outcome of the case with less of the compiler, of the sides where it failed or drifted."""
    lines = []
    for side, document in zip(("base", "new"), documents, strict=True):
        ablation = report.ablation(document)
        if ablation.outcomes:
            tried = ", ".join(
                f"`{outcome.backend}`: {outcome.status}" for outcome in ablation.outcomes
            )
            blamed = f"; it blames {ablation.stage}" if ablation.stage else ""
            lines.append(f"Ablation of the compiler on {side}: {tried}{blamed}.")
    return lines


def _ruled_out(group: AlertGroup, environments: Sequence[dict[str, Any]]) -> list[str]:
    """Facts that did not move with it, and what the environments share."""
    lines = []
    for fact in group.evidence:
        if fact.get("fact") in _RULE_OUT and not fact.get("supports"):
            lines.append(str(fact["says"]))
    before, after = environments
    if before and after:
        differences = [each.text for each in environment_differences(before, after)]
        alike = "Machine, driver, Python, libraries and settings"
        if not differences:
            lines.append(f"{alike} are the same on both sides.")
        else:
            text = "; ".join(f"`{difference}`" for difference in differences)
            lines.append(f"{alike} differ in nothing but {text}.")
    return lines


def _since(group: AlertGroup) -> list[str]:
    lines = []
    if group.base and group.new and group.base_id != group.new_id:
        measured = f"{group.base}; first build measured with it: {group.new}"
        lines.append(f"Last build measured without it: {measured}.")
    if address := alert_page.commit_range(group):
        lines.append(f"Commits between them: {address}")
    for search in searches(group):
        if search.bisection.state == Bisection.State.FOUND:
            lines.append(f"Bisected: {search.bisection.message} {search.commits}".rstrip())
    return lines


def commands(sides: Sequence[Side], documents: Sequence[dict[str, Any]]) -> list[str]:
    """Commands that install each build and measure the case there."""
    lines = [_SUITE]
    for side, document in zip(sides, documents, strict=True):
        if side.build is None:
            continue
        lines.append(f"# {side.name}: {side.label}")
        lines.append(_install(side.build))
        if command := str(document.get("reproduce", "")):
            lines.append(command)
    return lines


def _install(build: TorchBuild) -> str:
    """pip's command; a version with a flavour (+cu130) lies on PyTorch's own index alone."""
    command = ["pip", "install", f"torch=={build.version}"]
    flavour = build.version.partition("+")[2]
    if build.index_url:
        command += ["--index-url", build.index_url]
    elif _FLAVOUR.fullmatch(flavour):
        command += ["--index-url", f"https://download.pytorch.org/whl/{flavour}"]
    return shlex.join(command)


def error_of(document: dict[str, Any]) -> str:
    """Error of a failed job of the new build; empty where it passed."""
    if document.get("status") == "pass":
        return ""
    error = document.get("error") or {}
    said = error.values() if isinstance(error, dict) else [error]
    texts = [str(text) for text in (document.get("message"), *said) if text]
    return "\n".join(texts)[-_LONGEST_ERROR:]


def versions(environments: Sequence[dict[str, Any]]) -> list[VersionRow]:
    """A row for each fact that one side knows; then the libraries."""
    rows = []
    for name, path in _VERSIONS:
        values = []
        for environment in environments:
            part, _, key = path.rpartition(".")
            facts = environment.get(part) if part else environment
            value = facts.get(key) if isinstance(facts, dict) else None
            values.append("" if value is None else str(value))
        if any(values):
            rows.append(VersionRow(name, *values))
    libraries = [environment.get("libraries", {}) for environment in environments]
    for name in sorted(libraries[0].keys() | libraries[1].keys()):
        if name != "triton":
            values = [str(versions.get(name, "")) for versions in libraries]
            rows.append(VersionRow(name, *values))
    return rows


def _is_local() -> bool:
    """Is the site reachable from its own machine alone?"""
    return urlsplit(settings.SITE_URL).hostname in _LOCAL_HOSTS


def _links(main: AlertSummary, sides: Sequence[Side]) -> list[str]:
    """Addresses of this site; where it asks people to sign in, few can open them."""
    if _is_local():
        return []
    files = "The files of both builds as one zip"
    if all(side.artifact(TRACE) for side in sides):
        files += ", with the structured trace and the FX graphs"
    lines = []
    for title, name in (("The alert, with charts and history", "alert"), (files, "alert_report")):
        path = reverse(name, args=[main.alert.group_id])
        lines.append(f"{title}: {settings.SITE_URL}{path}?alert={main.alert.pk}")
    return lines


def missing(base: Side, new: Side) -> list[str]:
    """Name what the report lacks of either side."""
    lines = []
    without = [side.name for side in (base, new) if not side.artifact(TRACE)]
    if without:
        lines.append(
            f"Structured trace of {' and '.join(without)}: not recorded; `TORCH_TRACE=FOLDER` "
            "before the commands writes it."
        )
    shas = [side.build.git_sha if side.build else "" for side in (base, new)]
    if not all(shas):
        lines.append("The commits of the two builds.")
    for side in (base, new):
        if side.result() is None:
            lines.append(f"The environment of {side.name}: no result of it is kept.")
    return lines
