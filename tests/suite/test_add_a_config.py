"""docs/add-a-config.md works as it is written: its line is taken from the page and applied."""

import re
from pathlib import Path

import torch
from torch import nn

from benchmarks_suite.configs import CONFIGS, Config
from benchmarks_suite.harness import compiling, torch_versions

PAGE = (Path(__file__).parents[2] / "docs" / "add-a-config.md").read_text()
LINE = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)[0]


def test_config_of_the_page_changes_what_inductor_does() -> None:
    config: Config = eval(LINE, {"Config": Config})
    with torch._inductor.config.patch({}):
        torch_versions.set_options("inductor", config.inductor)
        assert torch._inductor.config.triton.persistent_reductions is False
        torch._inductor.config.triton.persistent_reductions = True


def test_config_of_the_page_compiles_with_torchs_defaults() -> None:
    config: Config = eval(LINE, {"Config": Config})
    arguments = compiling.compile_arguments(config) | {"backend": "eager"}
    compiled = torch.compile(nn.Linear(2, 2), **arguments)
    assert compiled(torch.ones(1, 2)).shape == (1, 2)


def test_config_of_the_page_is_not_in_the_table() -> None:
    assert eval(LINE, {"Config": Config}).name not in CONFIGS
