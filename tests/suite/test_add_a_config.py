"""docs/add-a-config.md works as it is written: its line is taken from the page and applied."""

import re
from pathlib import Path

import torch
from torch import nn

from benchmarks_suite.configs import CONFIGS, Config
from benchmarks_suite.harness import compiling, torch_versions

PAGE = (Path(__file__).parents[2] / "docs" / "add-a-config.md").read_text()
LINE = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)[0]


def test_the_pages_config_changes_what_inductor_does() -> None:
    config: Config = eval(LINE, {"Config": Config})
    with torch._inductor.config.patch({}):
        torch_versions.set_options("inductor", config.inductor)
        assert torch._inductor.config.triton.persistent_reductions is False
        torch._inductor.config.triton.persistent_reductions = True


def test_the_pages_config_compiles_with_torchs_defaults() -> None:
    config: Config = eval(LINE, {"Config": Config})
    compiled = torch.compile(
        nn.Linear(2, 2), **(compiling.compile_arguments(config) | {"backend": "eager"})
    )
    assert compiled(torch.ones(1, 2)).shape == (1, 2)


def test_the_page_does_not_describe_a_config_that_is_there_already() -> None:
    assert eval(LINE, {"Config": Config}).name not in CONFIGS
