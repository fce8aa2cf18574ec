"""Two releases as one GPU recorded them: the site answers, and says which kernels it was."""

import html
import re

import pytest
from django.core.management import call_command
from django.test import Client

from tests.builders.golden_files import GOLDEN
from tests.builders.reading import page_text

pytestmark = pytest.mark.django_db
RECORDED = GOLDEN.parent / "releases_h100" / "device_time.jsonl.gz"
COMPARE = "/compare/?base=2.11.0%2Bcu130&new=2.13.0%2Bcu130&metric=device_ms"


def test_two_processes_a_side_decide_and_the_kernels_explain_it(reader: Client) -> None:
    call_command("import_results", str(RECORDED))
    page = reader.get(COMPARE)
    answer = page.context["report"].overall.answer
    assert answer.word == "Stay"
    worse = "Worse: gpt2.standard.training.autocast_bf16.static.b16 inductor device time"
    assert re.search(rf"{worse} 4[34]\.\d% slower \(4\d\.\d to 4\d(\.\d)?%\)\.", answer.sentence)
    waiting = "is not decided; it waits for the GPU"
    assert f"The whole step of 1 case {waiting}, so the GPU's own time decides." in answer.sentence
    limit = "whose own time is at most 1.5% slower."
    assert f"The whole step of 2 cases {waiting}, {limit}" in answer.sentence
    words = {group.name: group.answer.word for group in page.context["report"].models}
    assert words == {
        "captioning": "No regression found, cold start not known",
        "convnext": "No regression found, cold start not known",
        "gpt2": "Stay",
        "llama": "Not enough data",  # one process a side
        "mlp": "No regression found, cold start not known",
        "resnet50": "Not enough data",  # Inductor chose other block sizes from process to process
        "rms_norm": "No regression found, cold start not known",
        "softmax": "No regression found, cold start not known",
        "swin": "No regression found, cold start not known",
        "tiny_cnn": "Not enough data",  # one process
        "vit_b16": "No regression found, cold start not known",
    }

    pairs = re.findall(r'href="(/jobs/pair/[^"]*chosen=device_ms)', page.content.decode())
    explained = page_text(reader.get(html.unescape(pairs[0])))  # of the largest change
    two = r"9\d% of the 22\.\d ms added come from two groups of kernels: attention, backward"
    assert re.search(two, explained)


def test_one_build_alone_on_another_machine_takes_no_verdict_back(reader: Client) -> None:
    """Its device times differ by 0.9% from those of the machine that measured both."""
    call_command("import_results", str(RECORDED))
    call_command("import_results", str(GOLDEN.parent / "configs_h100" / "eighth.jsonl.gz"))
    assert reader.get(COMPARE).context["report"].overall.answer.word == "Stay"
