"""What was measured over time, and which config pays for how many steps."""

from datetime import datetime, timedelta
from typing import Annotated, Literal

from pydantic import Field

from compilewatch_client.agents.answers import (
    AdviceAnswer,
    ConfigCost,
    SeriesAnswer,
    SeriesChangeLine,
    SeriesLine,
)
from compilewatch_client.agents.shortening import (
    case_name,
    first,
    from_to,
    rounded,
    strings,
    with_interval,
)
from compilewatch_client.api_types import (
    AdviceDocument,
    DatumDocument,
    SeriesChangeDocument,
    SeriesDocument,
)
from compilewatch_client.client import Client

MOST_MATCHES = 12
MOST_POINTS = 200
MOST_LINES = 6
MOST_CONFIGS = 8
DAYS = 90  # before the newest point, unless the caller says since when
COLUMNS = ["at", "build", "value", "low", "high", "status", "purpose"]
LIMITS = {"wanders": "its level moves by itself", "bursts": "points stray and come back"}
NO_MATCH = "No series fits: search finds the names of benchmarks, configs and models."


class SeriesTools:
    def __init__(self, client: Client) -> None:
        self._client = client

    def show_series(
        self,
        series: Annotated[int, Field(ge=0, description="Its number; 0: by the names.")] = 0,
        benchmark: Annotated[str, Field(description="Name of a benchmark, in full.")] = "",
        model: Annotated[str, Field(description="Name of a model: gpt2.")] = "",
        config: Annotated[str, Field(description="Name of a config: inductor.")] = "",
        metric: Annotated[str, Field(description="Key of a metric.")] = "latency_ms",
        machine: Annotated[str, Field(description="A machine's key.")] = "",
        since: Annotated[
            str, Field(description="ISO 8601; empty: the newest point's last 90 days.")
        ] = "",
        points: Annotated[
            int, Field(ge=0, le=MOST_POINTS, description="The newest ones; 0: none.")
        ] = 20,
    ) -> SeriesAnswer:
        """One case's metric over time: its points with 95% intervals, where its level changed and
        how sure that is, and the smallest change that it can show. Where several series fit, they
        are listed with their newest value to choose from.
        """
        if series:
            return self._one(self._client.one_series(series), since, points)
        filters = {
            "benchmark": benchmark,
            "model": model,
            "config": config,
            "metric": metric,
            "machine": machine,
        }
        fitting, is_cut = first(self._client.series(**filters), MOST_MATCHES)
        if len(fitting) == 1:
            return self._one(fitting[0], since, points)
        answer: SeriesAnswer = {"matches": [_match(each) for each in fitting]}
        if is_cut:
            answer["left_out"] = "There are more: name benchmark, config or machine as well."
        elif not fitting:
            answer["left_out"] = NO_MATCH
        return answer

    def _one(self, series: SeriesDocument, since: str, points: int) -> SeriesAnswer:
        number = series["id"]
        answer: SeriesAnswer = {
            "matches": [_match(series)],
            "changes": [_change(change) for change in self._client.changes(number)],
            "url": series["url"],
        }
        if series["can_show_percent"] is not None:
            answer["can_show_percent"] = rounded(series["can_show_percent"])
        if series["limit"]:
            reason = LIMITS.get(series["limit"]["reason"], series["limit"]["reason"])
            answer["limit"] = f"Changes are not reported, or late: {reason}."
        if points and series["at"]:
            start = (
                since or (datetime.fromisoformat(series["at"]) - timedelta(days=DAYS)).isoformat()
            )
            data = list(self._client.data(number, since=start))
            answer["columns"] = COLUMNS
            answer["rows"] = [_row(datum) for datum in data[-points:]]
            if series["count"] > len(answer["rows"]):
                answer["left_out"] = (
                    f"{series['count'] - len(answer['rows'])} older points: raise points (up to "
                    f"{MOST_POINTS}), or set since, which was {start[:10]}"
                )
        return answer

    def advise_config(
        self,
        benchmark: Annotated[
            str, Field(pattern=r"^[^/?#%]+$", description="Name of a benchmark, in full.")
        ],
        steps: Annotated[
            float, Field(ge=0, lt=1e15, description="How many will be run; 0: not known.")
        ] = 0,
        machine: Annotated[
            str, Field(description="A machine's key; empty: the one that measured most.")
        ] = "",
        build: Annotated[
            str, Field(description="A build's label; empty: the newest that was compiled.")
        ] = "",
        start: Annotated[
            Literal["cold", "warm", "restored"], Field(description="With which caches it starts.")
        ] = "cold",
        memory_gb: Annotated[
            float, Field(ge=0, lt=1e9, description="Leave out what needs more; 0: no limit.")
        ] = 0,
    ) -> AdviceAnswer:
        """Which config (eager, inductor, …) to use for a number of steps: compiling costs a start
        and pays in each step. With each config's cost, its 95% interval, and how sure the advice
        is.
        """
        filters = {
            "steps": steps or None,
            "machine": machine,
            "build": build,
            "start": start,
            "memory_gb": memory_gb or None,
        }
        return _advice(self._client.advice(benchmark, **filters))


def _match(series: SeriesDocument) -> SeriesLine:
    line: SeriesLine = {
        "series": series["id"],
        "case": case_name(series["benchmark"], series["config"]),
        "metric": series["metric"],
        "machine": series["machine"],
        "track": series["track"],
        "unit": series["unit"],
        "status": series["status"],
        "points": series["count"],
    }
    if series["value"] is not None:
        line["newest"] = rounded(series["value"])
        if series["low"] is not None and series["high"] is not None:
            line["interval"] = [rounded(series["low"]), rounded(series["high"])]
    return line


def _change(change: SeriesChangeDocument) -> SeriesChangeLine:
    return {
        "alert": change["alert"],
        "at": change["at"][:16],
        "what": change["sentence"],
        "evidence": change["evidence_state"],
        "since": from_to(change["base"], change["new"]),
    }


def _row(datum: DatumDocument) -> list[str | float | None]:
    numbers: list[str | float | None] = []
    for number in (datum["value"], datum["low"], datum["high"]):
        numbers.append(None if number is None else rounded(number))
    return [datum["at"][:16], datum["build"], *numbers, datum["status"], datum["purpose"]]


def _advice(document: AdviceDocument) -> AdviceAnswer:
    answer: AdviceAnswer = {
        "benchmark": document["benchmark"],
        "where": f"{document['machine']}, {document['build']}, {document['start']} start",
        "advice": document["sentence"],
        "certainty": strings(document["certainty"], MOST_LINES),
        "costs": [],
        "url": document["url"],
    }
    if document["verdict"]:
        answer["verdict"] = document["verdict"]
    for cost in document["costs"][:MOST_CONFIGS]:
        line: ConfigCost = {
            "config": cost["config"],
            "start_s": with_interval(cost["start_s"], cost["start_low_s"], cost["start_high_s"]),
            "step_ms": with_interval(cost["step_ms"], cost["step_low_ms"], cost["step_high_ms"]),
        }
        if cost["memory_gb"] is not None:
            line["memory_gb"] = rounded(cost["memory_gb"])
        answer["costs"].append(line)
    unusable = [f"{each['config']}: {each['text']}" for each in document["unusable"]]
    if unusable:
        answer["unusable"] = strings(unusable, MOST_LINES)
    return answer
