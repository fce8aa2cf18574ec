"""A site's API as methods: names in, typed documents out. Lists are fetched page by page while they
are read.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar, cast

import httpx

from compilewatch_client import documents as d
from compilewatch_client.config import config
from compilewatch_client.errors import ApiError, Unreachable

Followed = TypeVar("Followed", d.Run, d.Comparison, d.Bisection)

API = "/api/v1/"
TIMEOUT_S = 60.0


class Client:
    """Asks one site. url, token: else from variables or the file, as config.py says. Use it in a
    `with` block, or close() it.

    Every method raises ApiError where the site refuses, and Unreachable where none answers.
    """

    def __init__(self, url: str = "", token: str = "") -> None:
        found = config(url, token)
        headers = {"Authorization": f"Bearer {found.token}"} if found.token else {}
        self.url = found.url
        self._http = httpx.Client(
            base_url=found.url + API, headers=headers, timeout=TIMEOUT_S, follow_redirects=False
        )
        self._seen: dict[str, tuple[str, Any]] = {}  # address -> ETag and what it came with

    def __enter__(self) -> "Client":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        self._http.close()

    # --- What there is
    # ------------------------------------------------------------------------------------------------
    def machines(self) -> Iterator[dict[str, Any]]:
        return self._rows("machines")

    def builds(self, **only: str) -> Iterator[dict[str, Any]]:
        """Torch builds; only: version, channel."""
        return self._rows("builds", only)

    def benchmarks(self, **only: str) -> Iterator[dict[str, Any]]:
        """only: model, family, size, mode, dtype."""
        return self._rows("benchmarks", only)

    def metrics(self) -> list[dict[str, Any]]:
        return cast(list[dict[str, Any]], self._get("metrics"))

    # --- What was measured
    # --------------------------------------------------------------------------------------------
    def series(self, **only: str) -> Iterator[d.Series]:
        """only: benchmark, model, family, mode, config, machine, track, metric."""
        return cast(Iterator[d.Series], self._rows("series", only))

    def data(self, series: int, **only: str) -> Iterator[d.Datum]:
        """The data of a series, the oldest first; only: since, until (ISO 8601), build, purpose,
        status.
        """
        return cast(Iterator[d.Datum], self._rows(f"series/{series}/data", only))

    def figure(self, benchmark: str, *, config: Sequence[str] = (), **only: str) -> dict[str, Any]:
        """The trend of a benchmark as a Plotly figure; only: metric, machine, track."""
        return cast(
            dict[str, Any],
            self._get(f"benchmarks/{benchmark}/figure", {"config": [*config], **only}),
        )

    def jobs(self, **only: Any) -> Iterator[d.Job]:
        """only: run, state, status, benchmark, config, build, machine."""
        return cast(Iterator[d.Job], self._rows("jobs", only))

    def job(self, job: str) -> dict[str, Any]:
        """One job with its result document and the command that repeats it."""
        return cast(dict[str, Any], self._get(f"jobs/{job}"))

    def samples(self, job: str) -> list[dict[str, Any]]:
        """The raw samples of a job by arm, in milliseconds per step."""
        return cast(list[dict[str, Any]], self._get(f"jobs/{job}/samples"))

    # --- Runs
    # ---------------------------------------------------------------------------------------------------------
    def runs(self, **only: str) -> Iterator[dict[str, Any]]:
        """only: state, purpose, machine, track, build."""
        return self._rows("runs", only)

    def run(self, run: int) -> d.Run:
        return cast(d.Run, self._get(f"runs/{run}"))

    def trigger(self, build: str, **what: Any) -> d.Run:
        """what: machine, track, families, benchmarks, configs, label."""
        return cast(d.Run, self._post("runs", {"build": build, **what}))

    def plan(self, build: str, **what: Any) -> d.Plan:
        """What `trigger` would measure."""
        return cast(d.Plan, self._post("runs/plan", {"build": build, **what}))

    def cancel_run(self, run: int) -> int:
        """How many jobs it stopped."""
        return int(self._post(f"runs/{run}/cancel", {})["jobs"])

    # --- Comparisons
    # --------------------------------------------------------------------------------------------------
    def comparisons(self, **only: str) -> Iterator[dict[str, Any]]:
        """only: base, new, machine."""
        return self._rows("comparisons", only)

    def comparison(self, comparison: str) -> d.Comparison:
        return cast(d.Comparison, self._get(f"comparisons/{comparison}"))

    def compare(self, base: str, new: str, **what: Any) -> d.Comparison:
        """Measure two builds in turn; what: machine, models, families, benchmarks, configs,
        repeats, label.
        """
        return cast(d.Comparison, self._post("comparisons", {"base": base, "new": new, **what}))

    def report(self, comparison: str) -> d.Report:
        return cast(d.Report, self._get(f"comparisons/{comparison}/report"))

    def report_markdown(self, comparison: str) -> str:
        return self._ask("GET", f"comparisons/{comparison}/report.md").text

    def gate(self, comparison: str, metrics: Sequence[str] = ()) -> d.Gate:
        return cast(d.Gate, self._get(f"comparisons/{comparison}/gate", {"metric": [*metrics]}))

    def cancel_comparison(self, comparison: str) -> int:
        """How many jobs it stopped."""
        return int(self._post(f"comparisons/{comparison}/cancel", {})["jobs"])

    # --- Bisections and schedules
    # -------------------------------------------------------------------------------------
    def bisections(self, **only: str) -> Iterator[dict[str, Any]]:
        """only: state, machine, benchmark."""
        return self._rows("bisections", only)

    def bisection(self, bisection: int) -> d.Bisection:
        return cast(d.Bisection, self._get(f"bisections/{bisection}"))

    def bisect(
        self, base: str, new: str, *, benchmark: str, config: str, **what: str
    ) -> d.Bisection:
        """Search between two builds for where a case changed; what: metric, machine."""
        case = {"benchmark": benchmark, "config": config}
        return cast(
            d.Bisection, self._post("bisections", {"base": base, "new": new, **case, **what})
        )

    def cancel_bisection(self, bisection: int) -> d.Bisection:
        return cast(d.Bisection, self._post(f"bisections/{bisection}/cancel", {}))

    def schedules(self) -> Iterator[d.Schedule]:
        return cast(Iterator[d.Schedule], self._rows("schedules"))

    def trigger_schedule(self, schedule: int) -> d.Run:
        """Trigger its run now, as when it is due."""
        return cast(d.Run, self._post(f"schedules/{schedule}/trigger", {}))

    # --- Alerts
    # -------------------------------------------------------------------------------------------------------
    def alerts(self, **only: str) -> Iterator[d.Alert]:
        """only: state, severity, cause, direction, kind, machine, track, family, assignee; `all`
        for everything.
        """
        return cast(Iterator[d.Alert], self._rows("alerts", only))

    def alert(self, alert: int) -> dict[str, Any]:
        """One group with its series, evidence and history."""
        return cast(dict[str, Any], self._get(f"alerts/{alert}"))

    def triage(self, alert: int, act: d.Act, **what: Any) -> dict[str, Any]:
        """Act on an alert as its page does; `what` are the fields of the call, such as
        to="acknowledged", why="known".

        Answers the alert; after `split` and `merge` the one that has the changes now.
        """
        return cast(dict[str, Any], self._ask("POST", f"alerts/{alert}/{act}", json=what).json())

    # --- Results
    # ------------------------------------------------------------------------------------------------------
    def post_results(self, results: Iterable[Mapping[str, Any]], **where: Any) -> d.Taken:
        """Post result.v1 documents; where: machine, track, label, dry_run. The same twice changes
        nothing.
        """
        body = "".join(f"{json.dumps(one)}\n" for one in results).encode()
        headers = {"Content-Type": "application/x-ndjson"}
        return cast(
            d.Taken,
            self._ask("POST", "results", params=where, content=body, headers=headers).json(),
        )

    def post_file(self, file: Path, **where: Any) -> d.Taken:
        """Post a file, the suite's or another tool's; where: as for post_results, and build, at,
        config, metric: what the file does not say (docs/import.md).
        """
        params = {"file": file.name, **where}
        return cast(
            d.Taken, self._ask("POST", "results", params=params, content=file.read_bytes()).json()
        )

    # --- HTTP
    # ---------------------------------------------------------------------------------------------------------
    def _rows(self, path: str, only: Mapping[str, Any] | None = None) -> Iterator[dict[str, Any]]:
        page = self._get(path, only)
        yield from page["results"]
        while page["next"]:
            # Our own address: the site may know itself by another
            query = httpx.URL(page["next"]).query.decode()
            page = self._get(f"{path}?{query}")
            yield from page["results"]

    def _get(self, path: str, only: Mapping[str, Any] | None = None) -> Any:
        """The document at `path`; one that has not changed since it was last asked for is not sent
        again.
        """
        params = {name: value for name, value in (only or {}).items() if value not in ("", None)}
        address = f"{path} {sorted(params.items())}"
        tag, known = self._seen.get(address, ("", None))
        headers = {"If-None-Match": tag} if tag else {}
        answer = self._ask("GET", path, **({"params": params} if params else {}), headers=headers)
        if answer.status_code == httpx.codes.NOT_MODIFIED:
            return known
        found = answer.json()
        if "is_active" in found:  # what is followed is asked for again
            self._seen[address] = (answer.headers.get("ETag", ""), found)
        return found

    def _post(self, path: str, body: Mapping[str, Any]) -> Any:
        return self._ask(
            "POST", path, json={name: value for name, value in body.items() if value is not None}
        ).json()

    def _ask(self, method: str, path: str, **how: Any) -> httpx.Response:
        try:
            answer = self._http.request(method, path, **how)
        except httpx.HTTPError as error:
            raise Unreachable(
                f"{self.url} did not answer: {error}. Is that its address, and is it up?"
            ) from None
        if answer.is_success or answer.status_code == httpx.codes.NOT_MODIFIED:
            return answer
        raise ApiError(answer.status_code, self._detail(answer))

    def _detail(self, answer: httpx.Response) -> str:
        try:
            return str(answer.json()["detail"])
        except (ValueError, KeyError, TypeError):
            return (
                f"{self.url} answered {answer.status_code} to {answer.request.url.path}: is "
                "it a Compilewatch site?"
            )
