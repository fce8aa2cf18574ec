"""The stdlib checker accepts exactly what the schemas accept, and says which field is wrong."""

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from benchmarks_suite.harness import contract

GOLDEN = Path(__file__).parents[1] / "data" / "golden"
DOCUMENTS = sorted(GOLDEN.glob("*.json"))
STRANGE = [
    None,
    True,
    0,
    -1,
    1.0,
    2.5,
    1e9,
    "",
    "pass",
    "UPPER case",
    "x" * 5000,
    "cuda:0\n",
    [],
    ["cold", "cold"],
    [1.5],
    {},
    {"x": 1},
]


def read(path: Path) -> Any:
    return json.loads(path.read_text())


def schema_of(path: Path) -> str:
    return "job.v1" if path.name.startswith("job") else "result.v1"


def accepted(document: Any, schema: str) -> bool:
    try:
        contract.check(document, schema)
    except contract.ContractError:
        return False
    return True


def places(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every path in a document; of long lists only the first item."""
    yield at
    keys: Any = ()
    if isinstance(value, dict):
        keys = value
    if isinstance(value, list):
        keys = range(len(value[:1]))
    for key in keys:
        yield from places(value[key], (*at, key))


def mutants(document: Any) -> Iterator[Any]:
    """The document with each place removed, replaced by strange values, or given another field."""
    for *parents, last in filter(None, places(document)):
        for strange in [*STRANGE, "remove", "add"]:
            mutant = copy.deepcopy(document)
            owner = mutant
            for key in parents:
                owner = owner[key]
            if strange == "remove":
                del owner[last]
            elif strange == "add" and isinstance(owner, dict):
                owner["A field too many"] = 1
            else:
                owner[last] = strange
            yield mutant


def shortened(value: Any) -> Any:
    """The document with two of each list and of each of its larger objects.

    The rest says nothing new.
    """
    if isinstance(value, list):
        return [shortened(item) for item in value[:2]]
    if not isinstance(value, dict):
        return value
    is_large = "schema" not in value and len(value) > 8
    keys = list(value)[:2] if is_large else list(value)
    return {key: shortened(value[key]) for key in keys}


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_golden_files_keep_the_contract(path: Path) -> None:
    document, schema = read(path), schema_of(path)
    assert list(Draft202012Validator(contract.schema(schema)).iter_errors(document)) == []
    assert accepted(document, schema)


@pytest.mark.parametrize(
    "name", ["job.pass.json", "job.minimal.json", "result.pass.json", "result.unsupported.json"]
)
def test_checker_and_jsonschema_agree_on_every_mutant(name: str) -> None:
    path = GOLDEN / name
    schema = schema_of(path)
    document = read(path)
    if schema == "result.v1":
        job, benchmark = document["job"], document["benchmark"]
        document = {**shortened(document), "job": job, "benchmark": benchmark}
        del document["job"]["measure"]
    validator = Draft202012Validator(contract.schema(schema))
    for mutant in mutants(document):
        ends_with_newline = '\\n"' in json.dumps(mutant)
        if not ends_with_newline:
            assert accepted(mutant, schema) == validator.is_valid(mutant), mutant


def test_pattern_ends_at_the_end_of_the_text_not_before_its_last_newline() -> None:
    document = read(GOLDEN / "job.minimal.json") | {"device": "cuda:0\n"}
    assert not accepted(document, "job.v1")


def test_error_names_the_field_and_what_is_allowed() -> None:
    document = read(GOLDEN / "job.pass.json")
    document["measure"]["starts"] = ["cold", "lukewarm"]
    text = r'measure\.starts\[1\]: must be cold or warm or .* or diagnostic, not "lukewarm"'
    with pytest.raises(contract.ContractError, match=text):
        contract.check(document, "job.v1")


def test_error_about_an_unknown_field_lists_the_fields() -> None:
    document = read(GOLDEN / "job.minimal.json") | {"benchmrk": "mlp"}
    text = "benchmrk: is not a field; the fields are attempt, benchmark"
    with pytest.raises(contract.ContractError, match=text):
        contract.check(document, "job.v1")


@pytest.mark.parametrize("word", ["NaN", "Infinity", "-Infinity"])
def test_numbers_that_json_does_not_have_are_refused(word: str) -> None:
    with pytest.raises(ValueError, match=f"{word} is not JSON"):
        contract.read_json(f'{{"budget_s": {word}}}')


def test_defaults_come_from_the_schema() -> None:
    filled = contract.with_defaults(read(GOLDEN / "job.minimal.json"), contract.schema("job.v1"))
    assert filled["measure"]["starts"] == ["cold"]
    assert filled["device"] == "cpu"
    Draft202012Validator(contract.schema("job.v1")).validate(filled)


def test_a_keyword_that_the_checker_does_not_know_is_refused() -> None:
    rules = {"type": "object", "patternProperties": {}}
    with pytest.raises(NotImplementedError, match="patternProperties"):
        list(contract._problems({}, rules, ""))
