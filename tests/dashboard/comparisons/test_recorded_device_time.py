"""Two releases as one GPU recorded them: the site answers, and says which kernels it was."""

import html
import re

import pytest
from django.core.management import call_command
from django.test import Client

from dashboard.comparisons.core.matching import Key
from dashboard.judgement.words import graded
from tests.builders.golden_files import GOLDEN
from tests.builders.reading import page_text

pytestmark = pytest.mark.django_db
GPT2 = Key("gpt2.standard.training.autocast_bf16.static.b16", "inductor")
SOFTMAX = Key("softmax.standard.inference.bfloat16.static.b16384", "inductor")
COMPARE = "/compare/?base=2.11.0%2Bcu130&new=2.13.0%2Bcu130&metric=device_ms"


def import_recorded(folder: str = "releases_h100") -> None:
    for path in sorted((GOLDEN.parent / folder).glob("**/*.jsonl.gz")):
        call_command("import_results", str(path))


@pytest.mark.parametrize(
    ("folder", "new", "metric", "percent", "pairs"),
    [
        ("releases_h100", "2.15.0%2Bcu132", "device_ms", 45.7, 2),
        ("releases_h100", "2.13.0%2Bcu130", "latency_ms", 42.4, 4),
        ("releases_h200", "2.14.1%2Bcu130", "device_ms", 49.0, 3),
        ("releases_h200", "2.14.1%2Bcu130", "latency_ms", 47.5, 3),
    ],
)
def test_attention_that_left_cudnn_is_certain(
    reader: Client, folder: str, new: str, metric: str, percent: float, pairs: int
) -> None:
    import_recorded(folder)
    page = reader.get(f"/compare/?base=2.11.0%2Bcu130&new={new}&metric={metric}")
    rows = page.context["report"].tables[metric].rows
    [training] = [row for row in rows if row.case.key == GPT2]
    assert (graded(training.change), training.change.pairs) == ("worse, certain", pairs)
    assert training.change.amount == pytest.approx(percent, abs=0.5)


@pytest.mark.parametrize(("metric", "percent"), [("latency_ms", -41.6), ("device_ms", -42.5)])
def test_softmax_is_certainly_faster_by_steps_as_by_device_time(
    reader: Client, metric: str, percent: float
) -> None:
    import_recorded()
    page = reader.get(COMPARE.replace("2.13.0%2Bcu130", "2.15.0%2Bcu132"))
    rows = page.context["report"].tables[metric].rows
    [softmax] = [row.change for row in rows if row.case.key == SOFTMAX]
    assert graded(softmax) == "better, certain"
    assert softmax.amount == pytest.approx(percent, abs=0.5)


def test_kernels_explain_a_large_change(reader: Client) -> None:
    import_recorded()
    page = reader.get(COMPARE)
    report = page.context["report"]
    [training] = [row for row in report.latency.rows if row.case.key == GPT2]
    assert (graded(training.change), training.change.pairs) == ("worse, certain", 4)
    assert training.change.amount == pytest.approx(42.4, abs=0.5)

    changes = re.findall(r'href="(/change/[^"]*)">Kernel by kernel', page.text)
    explained = page_text(reader.get(html.unescape(changes[0])))  # of the largest change
    two = r"9\d% of the 22\.\d ms added come from two groups of kernels: attention, backward"
    assert re.search(two, explained)


def test_one_build_alone_on_another_machine_takes_no_verdict_back(reader: Client) -> None:
    """Its device times differ by 0.9% from those of the machine that measured both."""
    import_recorded()
    before = reader.get(COMPARE).context["report"].overall.answer
    call_command("import_results", str(GOLDEN.parent / "configs_h100" / "eighth.jsonl.gz"))
    assert reader.get(COMPARE).context["report"].overall.answer == before
