"""What changed, and why it is believed."""

from typing import Annotated, Literal

from pydantic import Field

from compilewatch_client.agents.answers import (
    AlertAnswer,
    AlertLine,
    AlertList,
    ChangeLine,
    IssueText,
)
from compilewatch_client.agents.shortening import MOST_ROWS, cut, first, foreign, from_to, strings
from compilewatch_client.api_types import AlertDetailDocument, AlertDocument, EvidenceDocument
from compilewatch_client.client import Client

MOST_CHANGES = 6
MOST_LINES = 8
MOST_EVENTS = 3
ERROR_CHARACTERS = 1_500
NOTE_CHARACTERS = 300
ISSUE_CHARACTERS = 12_000

Filter = Annotated[str, Field(max_length=200)]


class AlertTools:
    def __init__(self, client: Client) -> None:
        self._client = client

    def list_alerts(
        self,
        opened: Annotated[
            Literal["", "day", "week", "release"],
            Field(description="Opened in the last 24 h, 7 days, or since the newest release."),
        ] = "",
        words: Annotated[
            Filter, Field(description="Words that all have to fit: gpt2 latency.")
        ] = "",
        state: Annotated[
            Filter, Field(description="confirmed, suspected, …; all for every state.")
        ] = "",
        direction: Annotated[
            Filter, Field(description="improvement, …; all; empty: what got worse.")
        ] = "",
        severity: Annotated[Filter, Field(description="high, medium or low.")] = "",
        machine: Annotated[Filter, Field(description="A machine's key.")] = "",
        family: Annotated[Filter, Field(description="A family: llm, vision, …")] = "",
        most: Annotated[int, Field(ge=1, le=MOST_ROWS)] = 10,
    ) -> AlertList:
        """What regressed or needs attention: open alerts, newest first, each with its change, 95%
        interval, evidence and likely cause. Without filters what is open and got worse.
        """
        filters = {
            "opened": opened,
            "q": words,
            "state": state,
            "direction": direction,
            "severity": severity,
            "machine": machine,
            "family": family,
            "page_size": str(most + 1),
        }
        listed, is_cut = first(self._client.alerts(**filters), most)
        answer: AlertList = {"alerts": [_line(alert) for alert in listed]}
        if is_cut:
            answer["left_out"] = (
                f"There are older ones: narrow the filters, or most up to {MOST_ROWS}."
            )
        return answer

    def show_alert(
        self,
        alert: Annotated[int, Field(ge=1, description="Its number.")],
        change: Annotated[
            int, Field(ge=0, description="One of its changes; 0: the one that stands for it.")
        ] = 0,
        with_issue: Annotated[
            bool,
            Field(description="Add the ready text for PyTorch's issue tracker; it is long."),
        ] = False,
    ) -> AlertAnswer:
        """One alert with its evidence: how sure, likely cause and what speaks for it, what was
        ruled out, since which build and commits, which kernels, how to repeat it.
        """
        detail = self._client.alert(alert)
        evidence = self._client.evidence(alert, change or None)
        answer = _answer(detail, evidence)
        if with_issue:
            issue = self._client.issue(alert, change or None)
            answer.pop("repeat", None)  # the issue has it
            answer["issue"] = IssueText(
                title=issue["title"],
                body=cut(issue["body"], ISSUE_CHARACTERS),
                open_at=f"{detail['url']}issue/",
            )
        return answer


def _line(alert: AlertDocument) -> AlertLine:
    return {
        "alert": alert["id"],
        "what": alert["sentence"] or alert["title"],
        "evidence": alert["evidence_state"],
        "workflow": alert["workflow_state"],
        "severity": alert["severity"],
        "direction": alert["direction"],
        "cause": alert["cause_in_words"],
        "machine": alert["machine"] or "",
        "since": from_to(alert["base"], alert["new"]),
        "series": alert["series"],
        "opened": alert["created_at"][:16],
    }


def _answer(detail: AlertDetailDocument, evidence: EvidenceDocument) -> AlertAnswer:
    answer: AlertAnswer = {
        "alert": detail["id"],
        "what": evidence["sentence"],
        "evidence": evidence["evidence_state"],
        "workflow": detail["workflow_state"],
        "severity": detail["severity"],
        "direction": detail["direction"],
        "how_sure": strings(evidence["how_sure"], MOST_LINES),
        "cause": strings(evidence["cause"], MOST_LINES),
        "url": detail["url"],
    }
    if len(detail["changes"]) > 1:
        answer["changes"] = _changes(detail)
    if evidence["ruled_out"]:
        answer["ruled_out"] = strings(evidence["ruled_out"], MOST_LINES)
    if evidence["since"]:
        answer["since"] = strings(evidence["since"], MOST_LINES)
    if evidence["kernels"]:
        answer["kernels"] = strings(evidence["kernels"], MOST_LINES)
    if evidence["missing"]:
        answer["not_known"] = strings(evidence["missing"], MOST_LINES)
    if evidence["commands"]:
        answer["repeat"] = strings(evidence["commands"], MOST_LINES)
    if evidence["error"]:
        answer["error"] = foreign("a failed job", evidence["error"], ERROR_CHARACTERS, end=True)
    notes = [event for event in detail["events"] if event["by"] and event["text"]]
    if notes:
        answer["history"] = [
            foreign(f"{event['by']}, {event['at'][:10]}", event["text"], NOTE_CHARACTERS)
            for event in notes[-MOST_EVENTS:]
        ]
    if left_out := _left_out(detail, len(notes)):
        answer["left_out"] = left_out
    return answer


def _changes(detail: AlertDetailDocument) -> list[ChangeLine]:
    lines = []
    for change in detail["changes"][:MOST_CHANGES]:
        line: ChangeLine = {
            "change": change["id"],
            "series": change["series"],
            "what": change["sentence"],
        }
        if change["confirmation"]:
            line["confirmation"] = change["confirmation"]
        lines.append(line)
    return lines


def _left_out(detail: AlertDetailDocument, notes: int) -> list[str]:
    lines = []
    if (changes := len(detail["changes"]) - MOST_CHANGES) > 0:
        lines.append(f"{changes} smaller changes: on the page")
    if notes > MOST_EVENTS:
        lines.append(f"{notes - MOST_EVENTS} older notes of people: on the page")
    return lines
