"""Other tools' files, as tests/data/imports has them, and what the site reads of them."""

import json
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from dashboard.results.core.result_format import parse_result
from dashboard.results.formats import Hints, ParsedFile, parse_file

FOLDER = Path(__file__).parents[1] / "data" / "imports"
PERFORMANCE = "inductor_torchbench_amp_training_cuda_performance.csv"
ACCURACY = PERFORMANCE.replace("performance", "accuracy")
HINTS = Hints("2.13.0", datetime(2026, 11, 1, tzinfo=UTC), "a100")


def of(name: str, hints: Hints = HINTS) -> ParsedFile:
    return parse_file(name, (FOLDER / name).read_bytes(), hints)


def by_model(file: ParsedFile) -> dict[str, Any]:
    """The checked results by model, without the digest of what its name lost."""
    results = [parse_result(document) for document in documents(file)]
    return {re.sub(r"_[0-9a-f]{8}$", "", result.benchmark["model"]): result for result in results}


def documents(file: ParsedFile) -> list[dict[str, Any]]:
    return [document for _, document in file.documents]


def first_record() -> dict[str, Any]:
    """The first record of v3.json."""
    lines = (FOLDER / "v3.json").read_text().splitlines()
    record: dict[str, Any] = json.loads(lines[0])
    return record


def reasons(name: str, body: str | bytes, hints: Hints = HINTS) -> str:
    file = parse_file(name, body if isinstance(body, bytes) else body.encode(), hints)
    return "\n".join(f"{refusal.where}: {refusal.why}" for refusal in file.refused)
