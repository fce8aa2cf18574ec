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
DOCUMENTS = [
    (path, "job.v1" if path.name.startswith("job") else "result.v1")
    for path in sorted(GOLDEN.glob("*.json"))
]
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


def accepted(document: Any, schema: str) -> bool:
    try:
        contract.check(document, schema)
    except contract.ContractError:
        return False
    return True


def places(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every path in a document; of long lists only the first item."""
    yield at
    for key in (
        value
        if isinstance(value, dict)
        else range(min(len(value), 1))
        if isinstance(value, list)
        else ()
    ):
        yield from places(value[key], (*at, key))


def mutants(document: Any) -> Iterator[Any]:
    """The document with each place removed, replaced by strange values, or given a field too
    many.
    """
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
    """The document with two of each list and of each of its larger objects: the rest says nothing
    new.
    """
    if isinstance(value, list):
        return [shortened(item) for item in value[:2]]
    if isinstance(value, dict):
        free = "schema" not in value and len(value) > 8
        return {key: shortened(item) for key, item in list(value.items())[: 2 if free else None]}
    return value


@pytest.mark.parametrize(
    ("path", "schema"), DOCUMENTS, ids=lambda value: getattr(value, "name", value)
)
def test_golden_files_keep_the_contract(path: Path, schema: str) -> None:
    document = read(path)
    Draft202012Validator(contract.schema(schema)).validate(document)
    contract.check(document, schema)


@pytest.mark.parametrize(
    "name", ["job.pass.json", "job.minimal.json", "result.pass.json", "result.unsupported.json"]
)
def test_checker_and_jsonschema_agree_on_every_mutant(name: str) -> None:
    schema = "job.v1" if name.startswith("job") else "result.v1"
    validator = Draft202012Validator(contract.schema(schema))
    document = read(GOLDEN / name)
    if schema == "result.v1":
        document = {
            key: value if key in ("job", "benchmark") else shortened(value)
            for key, value in document.items()
        }
        del document["job"]["measure"]
    disagreements = [
        mutant
        for mutant in mutants(document)
        if accepted(mutant, schema) != validator.is_valid(mutant)
    ]
    assert [mutant for mutant in disagreements if '\\n"' not in json.dumps(mutant)] == []


def test_pattern_ends_at_the_end_of_the_text_not_before_a_last_newline() -> None:
    document = read(GOLDEN / "job.minimal.json") | {"device": "cuda:0\n"}
    assert not accepted(document, "job.v1")


def test_error_names_the_field_and_what_is_allowed() -> None:
    document = read(GOLDEN / "job.pass.json")
    document["measure"]["starts"] = ["cold", "lukewarm"]
    with pytest.raises(
        contract.ContractError,
        match=r"measure\.starts\[1\]: must be cold or warm or restored or cold_again, not "
        r"\"lukewarm\"",
    ):
        contract.check(document, "job.v1")


def test_unknown_field_is_told_with_the_known_ones() -> None:
    document = read(GOLDEN / "job.minimal.json") | {"benchmrk": "mlp"}
    with pytest.raises(
        contract.ContractError, match="benchmrk: is not a field; the fields are attempt, benchmark"
    ):
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


def test_every_keyword_of_the_schemas_is_one_the_checker_knows() -> None:
    rules = {"type": "object", "patternProperties": {}}
    with pytest.raises(NotImplementedError, match="patternProperties"):
        list(contract._problems({}, rules, ""))
