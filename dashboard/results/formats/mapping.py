"""A table that says which columns of a file are what: of any CSV or JSON (--map), or built in."""

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache

import jsonschema_rs

from dashboard.catalog.core.plan import require_known
from dashboard.language.contracts import Refused, check_schema
from dashboard.language.metrics import HIGHER, LOWER, METRICS
from dashboard.results.formats.common import Document, pattern
from dashboard.results.formats.fields import Malformed, quantity

# fmt: off
TEXTS = frozenset((
    "benchmark", "suite", "config", "build", "commit", "time", "machine", "mode", "dtype",
    "batch_size", "family", "gpu", "cpu", "cores", "python", "name", "value", "status",
))
# fmt: on


@dataclass(frozen=True, slots=True)
class Rule:
    """A kind of number in a file.

    name: pattern of what was measured, or of its column; * is anything, {config} its config. only:
    column -> value. metric: our key; without one it is a number as such, with its direction.
    unit: theirs, or {column}; a rule whose metric has no such unit is left. factor: to our unit.
    samples: column of single values. unmeasured: "0" or "<= 0": numbers that stand for none.
    """

    name: str = "*"
    metric: str = ""
    unit: str = ""
    factor: float = 0.0
    higher_is_better: bool = False
    samples: str = ""
    only: Mapping[str, str] = field(default_factory=dict)
    unmeasured: str = ""

    @property
    def key(self) -> str:
        return self.metric or (HIGHER if self.higher_is_better else LOWER)


@dataclass(frozen=True, slots=True)
class Table:
    """A mapping.

    texts: TEXTS -> text in which {column} is its value, {a|b} the first that is not empty.
    rows: the way to a JSON file's records. parameters: columns that tell cases apart, prefix.* for
    all with this prefix; settings: name -> text of what describes how they ran.
    only: column -> value of the records that count; otherwise: of those, where there are none.
    failed: column -> value of those whose case failed. repeats: of one case there may be several.
    name (of texts): what a record measures; without it each column is measured.
    needs: keys of a JSON file of this kind.
    """

    rules: Sequence[Rule]
    texts: Mapping[str, str]
    title: str = "file with a mapping"
    needs: frozenset[str] = frozenset()
    rows: str = ""
    parameters: Sequence[str] = ()
    settings: Mapping[str, str] = field(default_factory=dict)
    only: Mapping[str, str] = field(default_factory=dict)
    otherwise: Mapping[str, str] = field(default_factory=dict)
    failed: Mapping[str, object] = field(default_factory=dict)
    repeats: bool = False
    used: frozenset[str] = field(init=False)  # columns in texts and settings

    def __post_init__(self) -> None:
        texts = "}".join([*self.texts.values(), *self.settings.values()])
        object.__setattr__(self, "used", frozenset(re.findall(r"[^{}|]+", texts)))


def parse_table(text: str) -> Table:
    """A mapping as TOML. Raises ValueError."""
    try:
        document = tomllib.loads(text)
        check_schema(document, _validator(), "mapping")
        rules = [Rule(**rule) for rule in document.pop("metrics")]
        for rule in rules:
            pattern(rule.name)
    except (Refused, re.error, tomllib.TOMLDecodeError) as error:
        raise ValueError(f"the mapping cannot be read: {error}") from None
    require_known("metric", [rule.key for rule in rules], list(METRICS))
    texts = {key: document.pop(key) for key in TEXTS & document.keys()}
    return Table(rules, texts, **document)


@cache
def _validator() -> jsonschema_rs.Draft202012Validator:
    text: Document = {"type": "string"}
    columns: Document = {"type": "object", "additionalProperties": text}
    rule = dict.fromkeys(("name", "metric", "unit", "samples"), text)
    rule |= {
        "factor": {"type": "number", "exclusiveMinimum": 0},
        "higher_is_better": {"type": "boolean"},
        "only": columns,
    }
    rules: Document = {"type": "object", "additionalProperties": False, "properties": rule}
    table = dict.fromkeys((*TEXTS, "rows"), text)
    table |= {
        "metrics": {"type": "array", "minItems": 1, "items": rules},
        "parameters": {"type": "array", "items": text},
        "repeats": {"type": "boolean"},
        "only": columns,
    }
    return jsonschema_rs.Draft202012Validator(
        {
            "type": "object",
            "required": ["metrics"],
            "additionalProperties": False,
            "properties": table,
        }
    )


def parse_metric_mapping(text: str) -> tuple[str, tuple[str, float]]:
    """A metric as a person names it, THEIRS=OURS or THEIRS=OURS*FACTOR. Raises ValueError."""
    theirs, equals, ours = text.rpartition("=")
    key, _, factor = (part.strip() for part in ours.partition("*"))
    if not (equals and theirs.strip()):
        raise ValueError(f"{text!r}: write THEIRS=OURS, as 'Fwd Time (us)=latency_ms*0.001'")
    require_known("metric", [key], list(METRICS))
    try:
        number = quantity(factor.strip() or 1, "the factor")
    except Malformed:
        number = 0.0
    if not number:
        why = f"{text!r}: {factor!r} is not a factor; their number times it is ours"
        raise ValueError(why)
    return theirs.strip(), (key, number)
