"""What the guards of a model of many modules cost in each call, and two shortcuts past them.

    python module_guards.py              needs torch alone; no GPU

With `skip_tensor_guards_with_matching_dict_tags` dynamo skips the guards of tensors in a dictionary
that is as it was when they last passed, with `use_recursive_dict_tags_for_guards` those of whole
modules. Compiles a model of 96 linear layers as this release comes and with these options on and
off, and times its guards alone, in turn. Prints which guards a parameter has, the medians and a
verdict. Exits with 1 where the release as it comes takes more than half as long as without both,
with 0 where it does not, with 2 where it lacks an option.
"""

import collections
import re
import statistics
import sys
import time

import torch
from torch import nn
from torch._dynamo import config
from torch._dynamo.eval_frame import _debug_get_cache_entry_list

TENSORS = "skip_tensor_guards_with_matching_dict_tags"
MODULES = "use_recursive_dict_tags_for_guards"
ARMS = {
    "as it comes": {},
    "with both": {TENSORS: True, MODULES: True},
    "with that for tensors": {TENSORS: True, MODULES: False},
    "without both": {TENSORS: False, MODULES: False},
}
BLOCKS, CALLS, ROUNDS = 48, 100, 15
WEIGHT = "['0']._modules['first']._parameters['weight']"


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(8, 8), nn.Linear(8, 8)

    def forward(self, x):
        return x + self.second(torch.relu(self.first(x)))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList(Block() for _ in range(BLOCKS))

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return x


def compiled_with(options):
    """The guards of a model that was compiled so, and the places that they look at."""

    class Own(Model):  # with a code object of its own, on which dynamo keeps its entries
        forward = type(Model.forward)(Model.forward.__code__.replace(), globals())

    places = {"self": Own().eval(), "x": torch.ones(2, 8)}
    with config.patch(options):
        compiled = torch.compile(places["self"], backend="eager")
        for _ in range(3):
            compiled(places["x"])
    [entry] = _debug_get_cache_entry_list(Own.forward.__code__)
    return entry.guard_manager, places


def us_per_check(guards, places):
    assert guards.check(places)
    began = time.perf_counter()
    for _ in range(CALLS):
        guards.check(places)
    return (time.perf_counter() - began) / CALLS * 1e6


def of_a_parameter(guards):
    """The kinds of guards of one parameter, each with its number."""
    own = rf"\+- (\w+): (?!source=)[^#\n]*{re.escape(WEIGHT)}"
    return collections.Counter(re.findall(own, str(guards)))


@torch.no_grad()
def main():
    print(f"torch {torch.__version__}, Python {sys.version.split()[0]}")
    if not (hasattr(config, TENSORS) and hasattr(config, MODULES)):
        print("verdict: this release lacks one of the options")
        sys.exit(2)
    arms = {name: compiled_with(options) for name, options in ARMS.items()}
    times_us = {name: [] for name in arms}
    for _ in range(ROUNDS):
        for name, arm in arms.items():
            times_us[name].append(us_per_check(*arm))
    kinds = of_a_parameter(arms["without both"][0])
    print(f"a parameter: {', '.join(f'{count} {kind}' for kind, count in kinds.items())}")
    medians = {name: statistics.median(times) for name, times in times_us.items()}
    for name, median in medians.items():
        print(f"{name}: {median:.1f} us a call")
    share = medians["as it comes"] / medians["without both"]
    print(f"verdict: as it comes {share:.0%} of the time without shortcuts")
    sys.exit(share > 0.5)


if __name__ == "__main__":
    main()
