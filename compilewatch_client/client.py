"""A site's API as methods: names in, typed documents out."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from compilewatch_client.api_types import (
    AdviceDocument,
    AlertAction,
    AlertDetailDocument,
    AlertDocument,
    BisectionDocument,
    ComparisonDocument,
    ComparisonPlanDocument,
    DatumDocument,
    EvidenceDocument,
    GateDocument,
    HitDocument,
    IssueDocument,
    JobDetailDocument,
    JobDocument,
    PlanDocument,
    ReceiptDocument,
    ReportDocument,
    RunDocument,
    ScheduleDocument,
    SeriesChangeDocument,
    SeriesDocument,
)
from compilewatch_client.connection import Connection, Document


class Client(Connection):
    """A client of one site. Use it in a `with` block, or close() it.

    url, token: where they are empty, those of the environment or the file, as settings.py says.

    Lists are fetched page by page while they are read. Every method raises ApiError where the site
    refuses, and Unreachable where none answers.
    """

    # --- The catalog

    def machines(self) -> Iterator[Document]:
        return self._list("machines", Document)

    def builds(self, **filters: str) -> Iterator[Document]:
        """Torch builds; filters: version, channel."""
        return self._list("builds", Document, filters)

    def benchmarks(self, **filters: str) -> Iterator[Document]:
        """Filters: model, family, size, mode, dtype."""
        return self._list("benchmarks", Document, filters)

    def configs(self) -> Iterator[Document]:
        return self._list("configs", Document)

    def tracks(self) -> Iterator[Document]:
        return self._list("tracks", Document)

    def metrics(self) -> list[Document]:
        return self._get("metrics", list[Document])

    def search(self, words: str) -> list[HitDocument]:
        """Models, benchmarks, configs, builds, alerts and runs whose names have every word."""
        return cast(list[HitDocument], self._get("search", Document, {"q": words})["hits"])

    # --- Results

    def series(self, **filters: str) -> Iterator[SeriesDocument]:
        """Filters: benchmark, model, family, mode, config, machine, track, metric."""
        return self._list("series", SeriesDocument, filters)

    def one_series(self, series: int) -> SeriesDocument:
        return self._get(f"series/{series}", SeriesDocument)

    def data(self, series: int, **filters: str) -> Iterator[DatumDocument]:
        """The data of a series, the oldest first.

        Filters: since, until (ISO 8601), build, purpose, status.
        """
        return self._list(f"series/{series}/data", DatumDocument, filters)

    def changes(self, series: int) -> list[SeriesChangeDocument]:
        """The changes of a series' level, oldest first."""
        return self._get(f"series/{series}/changes", list[SeriesChangeDocument])

    def advice(self, benchmark: str, **filters: Any) -> AdviceDocument:
        """Advice on the config for a number of steps; filters: machine, build, start, steps,
        hours, memory_gb.
        """
        return self._get(f"benchmarks/{benchmark}/advice", AdviceDocument, filters)

    def figure(self, benchmark: str, *, config: Sequence[str] = (), **filters: str) -> Document:
        """The trend of a benchmark as a Plotly figure; filters: metric, machine, track."""
        query = {"config": [*config], **filters}
        return self._get(f"benchmarks/{benchmark}/figure", Document, query)

    def jobs(self, **filters: Any) -> Iterator[JobDocument]:
        """Filters: run, state, status, benchmark, config, build, machine."""
        return self._list("jobs", JobDocument, filters)

    def job(self, job: str) -> JobDetailDocument:
        """One job with its result document and the command that repeats it."""
        return self._get(f"jobs/{job}", JobDetailDocument)

    def samples(self, job: str) -> list[Document]:
        """The raw samples of a job by arm, in milliseconds per step."""
        return self._get(f"jobs/{job}/samples", list[Document])

    def post_results(
        self, results: Iterable[Mapping[str, Any]], **parameters: Any
    ) -> ReceiptDocument:
        """Post result.v1 documents. The same twice changes nothing.

        Parameters: machine, track, label, dry_run.
        """
        lines = [json.dumps(result) + "\n" for result in results]
        response = self._request(
            "POST",
            "results",
            params=parameters,
            content="".join(lines).encode(),
            headers={"Content-Type": "application/x-ndjson"},
        )
        return cast(ReceiptDocument, self._document(response))

    def post_file(self, file: Path, **parameters: Any) -> ReceiptDocument:
        """Post a file, the suite's or another tool's.

        Parameters: those of post_results; and build, at, config, metric, where the file does not
        say them (docs/import.md).
        """
        params = {"file": file.name, **parameters}
        response = self._request("POST", "results", params=params, content=file.read_bytes())
        return cast(ReceiptDocument, self._document(response))

    # --- Runs

    def runs(self, **filters: str) -> Iterator[Document]:
        """Filters: state, purpose, machine, track, build."""
        return self._list("runs", Document, filters)

    def run(self, run: int) -> RunDocument:
        return self._get(f"runs/{run}", RunDocument)

    def trigger(self, build: str, **fields: Any) -> RunDocument:
        """Fields: machine, track, models, families, benchmarks, configs, label."""
        return self._post("runs", RunDocument, {"build": build, **fields})

    def plan(self, build: str, **fields: Any) -> PlanDocument:
        """The jobs that `trigger` would make with the same fields, and their cost."""
        return self._post("runs/plan", PlanDocument, {"build": build, **fields})

    def cancel_run(self, run: int) -> int:
        """The number of jobs that it stopped."""
        return int(self._post(f"runs/{run}/cancel", Document)["jobs"])

    # --- Comparisons

    def comparisons(self, **filters: str) -> Iterator[Document]:
        """Filters: base, new, machine."""
        return self._list("comparisons", Document, filters)

    def comparison(self, comparison: str) -> ComparisonDocument:
        return self._get(f"comparisons/{comparison}", ComparisonDocument)

    def compare(self, base: str, new: str, **fields: Any) -> ComparisonDocument:
        """Measure two builds in turn.

        Fields: machine, models, families, benchmarks, configs, repeats, label.
        """
        body = {"base": base, "new": new, **fields}
        return self._post("comparisons", ComparisonDocument, body)

    def plan_comparison(self, base: str, new: str, **fields: Any) -> ComparisonPlanDocument:
        """The jobs that `compare` would make with the same fields, and how long they take."""
        body = {"base": base, "new": new, **fields}
        return self._post("comparisons/plan", ComparisonPlanDocument, body)

    def report(self, comparison: str, models: Sequence[str] = (), show: str = "") -> ReportDocument:
        """show: "changed" for the cases that changed alone."""
        part = {"model": [*models], "show": show}
        return self._get(f"comparisons/{comparison}/report", ReportDocument, part)

    def stored_report(
        self, base: str, new: str, *, machine: str = "", models: Sequence[str] = (), show: str = ""
    ) -> ReportDocument:
        """The report of two builds from all that is stored; measures nothing."""
        query = {"base": base, "new": new, "machine": machine, "model": [*models], "show": show}
        return self._get("compare", ReportDocument, query)

    def report_markdown(self, comparison: str) -> str:
        return self._request("GET", f"comparisons/{comparison}/report.md").text

    def gate(self, comparison: str, metrics: Sequence[str] = ()) -> GateDocument:
        return self._get(f"comparisons/{comparison}/gate", GateDocument, {"metric": [*metrics]})

    def cancel_comparison(self, comparison: str) -> int:
        """The number of jobs that it stopped."""
        return int(self._post(f"comparisons/{comparison}/cancel", Document)["jobs"])

    # --- Bisections and schedules

    def bisections(self, **filters: str) -> Iterator[Document]:
        """Filters: state, machine, benchmark."""
        return self._list("bisections", Document, filters)

    def bisection(self, bisection: int) -> BisectionDocument:
        return self._get(f"bisections/{bisection}", BisectionDocument)

    def bisect(
        self, base: str, new: str, *, benchmark: str, config: str, **fields: str
    ) -> BisectionDocument:
        """Search between two builds for where a case changed; fields: metric, machine."""
        case = {"benchmark": benchmark, "config": config}
        body = {"base": base, "new": new, **case, **fields}
        return self._post("bisections", BisectionDocument, body)

    def cancel_bisection(self, bisection: int) -> BisectionDocument:
        return self._post(f"bisections/{bisection}/cancel", BisectionDocument)

    def schedules(self) -> Iterator[ScheduleDocument]:
        return self._list("schedules", ScheduleDocument)

    def trigger_schedule(self, schedule: int) -> RunDocument:
        """Trigger its run now, as when it is due."""
        return self._post(f"schedules/{schedule}/trigger", RunDocument)

    # --- Alerts

    def alerts(self, **filters: str) -> Iterator[AlertDocument]:
        """Filters: state, severity, cause, direction, kind, machine, track, family, assignee,
        opened, q; `all` for everything.
        """
        return self._list("alerts", AlertDocument, filters)

    def alert(self, alert: int) -> AlertDetailDocument:
        """One group with its series, evidence and history."""
        return self._get(f"alerts/{alert}", AlertDetailDocument)

    def evidence(self, alert: int, change: int | None = None) -> EvidenceDocument:
        """Evidence for one change of an alert; change: None for the one that stands for it."""
        return self._get(f"alerts/{alert}/evidence", EvidenceDocument, {"change": change})

    def issue(self, alert: int, change: int | None = None) -> IssueDocument:
        """It as an issue for PyTorch; nothing is posted."""
        return self._get(f"alerts/{alert}/issue", IssueDocument, {"change": change})

    def triage(self, alert: int, action: AlertAction, **fields: Any) -> AlertDetailDocument:
        """Act on an alert as its page does.

        Fields: those of the call, such as to="acknowledged", why="known".
        """
        # Not _post: a field may be null here, as nobody in assign
        response = self._request("POST", f"alerts/{alert}/{action}", json=fields)
        return cast(AlertDetailDocument, self._document(response))
