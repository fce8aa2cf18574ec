"""Names as the imported files have them, in place of the keys that lost their letters."""

import re

from django.db.models import F
from django.utils.text import Truncator

from dashboard.models import Benchmark, Config, Machine

# Signs that turn the direction of all text after them
_TURNS = re.compile("[\u202a-\u202e\u2066-\u2069]")
_KEY = re.compile(r"(?<![\w-])[a-z0-9][a-z0-9_-]*[_-][0-9a-f]{8}(?![\w-])")
# The digest of a key is that of its name: what was read once stays true
_names: dict[str, str] = {}
MOST = 200  # characters of a name that are shown


def with_original_names(text: str) -> str:
    """A text with its keys as people know them; a query only for keys that are new here."""
    keys = _KEY.findall(text)
    if any(key not in _names for key in keys):
        names = dict.fromkeys(keys, "")
        ends = r"[_-][0-9a-f]{8}$"
        configs = Config.objects.filter(name__regex=ends).exclude(label=F("name"))
        machines = Machine.objects.filter(key__regex=ends).exclude(label="")
        benchmarks = Benchmark.objects.filter(imported=True, model__regex=ends)
        for pairs in (
            configs.values_list("name", "label"),
            machines.values_list("key", "label"),
            benchmarks.exclude(original="").values_list("model", "original"),
        ):
            names.update((key, Truncator(name).chars(MOST)) for key, name in pairs)
        _names.update(names)
    return _TURNS.sub("\ufffd", _KEY.sub(lambda key: _names.get(key[0]) or key[0], text))
