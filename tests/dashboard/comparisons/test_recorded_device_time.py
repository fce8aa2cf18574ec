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
RECORDED = GOLDEN.parent / "releases_h100"
GPT2 = Key("gpt2.standard.training.autocast_bf16.static.b16", "inductor")
COMPARE = "/compare/?base=2.11.0%2Bcu130&new=2.13.0%2Bcu130&metric=device_ms"


def import_recorded() -> None:
    for path in sorted(RECORDED.glob("*.jsonl.gz")):
        call_command("import_results", str(path))


def test_large_change_is_certain_with_two_pairs_and_the_kernels_explain_it(reader: Client) -> None:
    """Eight processes or more know how far those of one build are apart."""
    import_recorded()
    page = reader.get(COMPARE)
    report = page.context["report"]
    [training] = [row for row in report.latency.rows if row.case.key == GPT2]
    assert (graded(training.change), training.change.pairs) == ("worse, certain", 2)
    assert training.change.amount == pytest.approx(42.4, abs=0.5)

    pairs = re.findall(r'href="(/jobs/pair/[^"]*chosen=device_ms)', page.content.decode())
    explained = page_text(reader.get(html.unescape(pairs[0])))  # of the largest change
    two = r"9\d% of the 22\.\d ms added come from two groups of kernels: attention, backward"
    assert re.search(two, explained)


def test_one_build_alone_on_another_machine_takes_no_verdict_back(reader: Client) -> None:
    """Its device times differ by 0.9% from those of the machine that measured both."""
    import_recorded()
    before = reader.get(COMPARE).context["report"].overall.answer
    call_command("import_results", str(GOLDEN.parent / "configs_h100" / "eighth.jsonl.gz"))
    assert reader.get(COMPARE).context["report"].overall.answer == before
