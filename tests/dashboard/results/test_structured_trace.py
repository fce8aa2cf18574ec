"""FX graphs are read from a structured trace, and those of two builds compared."""

import json
from typing import Any

from dashboard.results.core.structured_trace import RUNNABLE, graph_diff, graph_files

RELU = "def forward(self, x):\n    return x.relu()"


def entry(payload: str = "", **metadata: Any) -> str:
    """An entry as torch writes it, of the first compilation of its first frame."""
    ids = {"frame_id": 0, "frame_compile_id": 0, "attempt": 0}
    if payload:
        metadata["has_payload"] = "0123456789abcdef"
    text = json.dumps({**metadata, **ids})
    lines = "".join(f"\n\t{line}" for line in payload.split("\n")) if payload else ""
    return f"V1124 22:40:01.123456 4711 torch/_dynamo/x.py:12] {text}{lines}\n"


def graph(kind: str, code: str) -> str:
    return entry(code, **{kind: {}})


def test_graph_is_named_by_its_kind_and_compile_id() -> None:
    trace = entry(str={"0": "x.py"}) + graph("aot_forward_graph", RELU)
    assert graph_files([trace]) == {"aot_forward_graph/0_0_0.txt": RELU}


def test_graph_in_an_artifact_is_named_by_the_artifact() -> None:
    named = entry(RELU, artifact={"name": "before_post_grad_graph", "encoding": "string"})
    assert list(graph_files([named])) == ["before_post_grad_graph/0_0_0.txt"]


def test_other_payloads_are_no_graphs() -> None:
    other = entry("{}", artifact={"name": "fx_graph_cache_miss", "encoding": "json"})
    assert graph_files([other + entry("def call():", inductor_output_code={})]) == {}


def test_second_graph_of_a_compilation_keeps_its_own_file() -> None:
    twice = graph("aot_forward_graph", RELU) + graph("aot_forward_graph", "other")
    names = ["aot_forward_graph/0_0_0.txt", "aot_forward_graph/0_0_0-2.txt"]
    assert list(graph_files([twice])) == names


def test_runnable_script_of_a_graph_is_a_python_file() -> None:
    script = entry("import torch", artifact={"name": RUNNABLE, "encoding": "string"})
    assert graph_files([script]) == {f"{RUNNABLE}/0_0_0.py": "import torch"}


def test_name_has_numbers_alone() -> None:
    hostile = graph("aot_forward_graph", RELU).replace('"frame_id": 0', '"frame_id": "../../etc"')
    assert list(graph_files([hostile])) == ["aot_forward_graph/0_0_0.txt"]


def test_line_that_is_no_entry_is_passed_over() -> None:
    broken = 'V1124 22:40:01.1 1 x.py:1] {"has_payload": \n' + graph("aot_forward_graph", RELU)
    assert list(graph_files([broken])) == ["aot_forward_graph/0_0_0.txt"]


def test_form_feed_in_the_source_does_not_end_a_graph() -> None:
    code = "x = f(x)  # \x0c \u2028\nreturn x"
    assert graph_files([graph("aot_forward_graph", code)]) == {"aot_forward_graph/0_0_0.txt": code}


def test_comments_paths_and_addresses_are_no_difference() -> None:
    base = graph_files([graph("aot_forward_graph", "# File: /a/model.py:3\nx = f(0x7f0012345678)")])
    new = graph_files([graph("aot_forward_graph", "# File: /b/model.py:9\nx = f(0x7f9987654321)")])
    diff = graph_diff(base, new)
    assert diff.files == []
    assert diff.compared == (1, 1)


def test_operator_that_changed_is_in_the_difference() -> None:
    base = graph_files([graph("aot_forward_graph", RELU)])
    new = graph_files([graph("aot_forward_graph", RELU.replace("relu", "gelu"))])
    [file] = graph_diff(base, new).files
    assert (file.kind, file.what) == ("aot_forward_graph", "changed")
    assert "+    return x.gelu()" in file.lines


def test_kind_that_one_release_lacks_is_named_and_not_compared() -> None:
    base = graph_files([graph("inductor_post_grad_graph", RELU)])
    new = graph_files([graph("after_post_grad_graph", RELU)])
    diff = graph_diff(base, new)
    assert diff.files == []
    assert diff.one_sided == ["inductor_post_grad_graph", "after_post_grad_graph"]
