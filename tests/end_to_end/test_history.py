"""The recipe by which a history for `make demo` is recorded."""

import gzip
import json
import sys
from pathlib import Path

import pytest

from tests.end_to_end import history

ASKED = [
    "list",
    "--benchmark",
    "mlp.smoke.inference.float32.static.b64",
    "--variant",
    '{"inductor": {"x": 1}}',
]


def test_the_list_has_rounds_of_both_builds_and_then_pairs(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(
        sys, "argv", ["history", *ASKED, "--label", "2.13.0~slow", "--rounds-after", "8"]
    )
    assert history.main() == 0
    jobs = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    told = [(job["purpose"], job.get("build", "plain")) for job in jobs]
    assert told[:30] == [("scheduled", "plain")] * 24 + [("scheduled", "2.13.0~slow")] * 6
    assert (
        told[30:]
        == [("confirmation", "plain"), ("confirmation", "2.13.0~slow")] * 6
        + [("scheduled", "plain")] * 8
    )


def test_results_are_kept_in_the_order_of_the_list(tmp_path: Path) -> None:
    for name in ("002-b", "001-a"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "result.json").write_text(json.dumps({"name": name}, indent=1))
    history.keep(tmp_path, tmp_path / "new" / "results.jsonl.gz")
    kept = gzip.decompress((tmp_path / "new" / "results.jsonl.gz").read_bytes()).splitlines()
    assert [json.loads(line)["name"] for line in kept] == ["001-a", "002-b"]
