"""The part of docs/coverage.md about the field's own models: what ran, and against what PyTorch's
own CI expects of the same names.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from benchmarks_suite.benchmark import Benchmark
from benchmarks_suite.field import expected
from benchmarks_suite.field.names import MODELS, FieldModel
from benchmarks_suite.harness import recorded
from benchmarks_suite.harness.contract import Document
from benchmarks_suite.registry import BENCHMARKS

_COLUMNS = ("eager", "dynamo_only", "inductor")  # each one more of the compiler
ResultByCase = dict[recorded.Case, Document]


def lines(results: ResultByCase, on_gpu: Sequence[Document]) -> Iterator[str]:
    """results: of smoke cases on a CPU. on_gpu: every result of a standard case on a GPU."""
    yield (
        "The names of PyTorch's `benchmarks/dynamo`, with random weights, in float32; no default"
        " run measures them ([own models](own-models.md#the-fields-own-models))."
    )
    yield from ("", *_measured_with(results), "")
    yield from _counts(results)
    yield from ("", "Each name that has something other than a pass, and why:", "")
    yield from _failures(results)
    yield from ("", "### Against what PyTorch's own CI expects", "")
    yield from _agreement(list(expected.compare(_compiled(results))))
    yield from ("", "### On a GPU, standard size", "", *_on_gpu(on_gpu))


def _measured_with(results: ResultByCase) -> Iterator[str]:
    environments = Counter[str]()
    for document in results.values():
        environment = document["environment"]
        libraries = environment["libraries"]
        versions = [f"torch {environment['torch']['version']}"]
        for library in ("transformers", "timm", "torchvision"):
            if library in libraries:
                versions.append(f"{library} {libraries[library]}")
        environments[f"{', '.join(versions)}, {document['finished_at'][:10]}"] += 1
    for text, count in sorted(environments.items()):
        yield f"- {count} cases with {text}"


def _counts(results: ResultByCase) -> Iterator[str]:
    """A row for each library and mode: how many names, and what became of them."""
    yield "| library | mode | names | " + " | ".join(f"`{name}`" for name in _COLUMNS) + " |"
    yield "|---|---|---|" + "---|" * len(_COLUMNS)
    for library in dict.fromkeys(model.library for model in MODELS.values()):
        for mode in ("inference", "training"):
            models = [
                model
                for model in MODELS.values()
                if model.library == library and mode in model.modes
            ]
            cells = [_cell(models, mode, config, results) for config in _COLUMNS]
            yield f"| {library} | {mode} | {len(models)} | {' | '.join(cells)} |"


def _on_gpu(documents: Sequence[Document]) -> Iterator[str]:
    """A row for each release, config and library."""
    names: dict[tuple[str, ...], dict[str, str]] = {}
    for document in documents:
        measured, job = document["benchmark"], document["job"]
        release = document["environment"]["torch"]["version"]
        library = BENCHMARKS[measured["name"]].library
        key = (release, job["config"], library, measured["mode"])
        names.setdefault(key, {})[measured["name"]] = document["status"]
    yield "| torch | config | library | mode | names |"
    yield "|---|---|---|---|---|"
    for row, statuses in sorted(names.items()):
        counts = Counter(statuses.values())
        counted = ", ".join(f"{count} {status}" for status, count in sorted(counts.items()))
        yield f"| {' | '.join(row)} | {counted} |"


def _cell(models: Sequence[FieldModel], mode: str, config: str, results: ResultByCase) -> str:
    statuses = Counter[str]()
    for model in models:
        status = _status(_smoke(model, mode), config, results)
        if status:
            statuses[status] += 1
    counts = [f"{count} {status}" for status, count in sorted(statuses.items())]
    return ", ".join(counts) or "not run"


def _smoke(model: FieldModel, mode: str) -> Benchmark:
    for benchmark in BENCHMARKS.values():
        is_model = (benchmark.library, benchmark.model) == (model.library, model.model)
        if is_model and benchmark.size == "smoke" and benchmark.mode == mode:
            return benchmark
    raise LookupError(f"{model.name} has no smoke size in {mode}")


def _status(benchmark: Benchmark, config: str, results: ResultByCase) -> str:
    """The status word, empty where it was not run. eager: also as the control of another config."""
    result = results.get((benchmark.name, config))
    if result is not None:
        return str(result["status"])
    if config == "eager":
        for compiled in _COLUMNS[1:]:
            result = results.get((benchmark.name, compiled))
            if result is not None:
                ran = "eager_latency_ms" in result["metrics"]
                return "pass" if ran else str(result["status"])
    return ""


def _failures(results: ResultByCase) -> Iterator[str]:
    yield "| case | config | status | reason |"
    yield "|---|---|---|---|"
    for (name, config), result in results.items():
        if result["status"] != "pass":
            reason = " ".join(str(result["message"]).split()).replace("|", "\\|")[:300]
            yield f"| {name} | `{config}` | {result['status']} | {reason} |"


def _compiled(results: ResultByCase) -> dict[tuple[str, str, str], Document]:
    """By family, model and mode: of the config that has most of the compiler."""
    by_model = {}
    for config in _COLUMNS[1:]:
        for (name, measured), result in results.items():
            if measured == config:
                benchmark = BENCHMARKS[name]
                by_model[benchmark.family, benchmark.model, benchmark.mode] = result
    return by_model


def _agreement(comparisons: Sequence[expected.Comparison]) -> Iterator[str]:
    files: dict[tuple[str, str], list[expected.Comparison]] = {}
    for comparison in comparisons:
        file = (comparison.expected.file, comparison.expected.commit)
        files.setdefault(file, []).append(comparison)
    if not files:
        yield "Nothing was compared."
        return
    traced = sum(comparison.config == "dynamo_only" for comparison in comparisons)
    yield (
        f"Of {len(comparisons)} rows that have a result here, {traced} are compared with"
        " `dynamo_only`: it traces the model and generates"
    )
    yield (
        "no code, so that its pass says less than theirs. The others are compared with `inductor`."
        " Graph breaks are dynamo's in both."
    )
    yield ""
    yield "| their file | commit | names compared | same status | same graph breaks |"
    yield "|---|---|---|---|---|"
    for (name, commit), of_file in files.items():
        yield f"| `{name}` | {commit} | {len(of_file)} | {_shares(of_file)} |"
    yield ""
    yield from _differences(comparisons)
    yield ""
    yield "Not compared:"
    yield ""
    rows = list(expected.read())
    skipped = sum(row.is_skipped for row in rows)
    without_result = len(rows) - skipped - len(comparisons)
    yield f"- {without_result} rows of names and modes that were not compiled here"
    yield f"- {skipped} rows that they pass without a check of accuracy (`pass_due_to_skip`)"
    for text in expected.NOT_COMPARED:
        yield f"- {text}"


def _shares(comparisons: Iterable[expected.Comparison]) -> str:
    comparisons = list(comparisons)
    statuses = sum(each.same_status for each in comparisons)
    counted = [each for each in comparisons if each.compares_breaks]
    breaks = sum(each.same_breaks for each in counted)
    return f"{statuses} of {len(comparisons)} | {breaks} of {len(counted)}"


def _differences(comparisons: Sequence[expected.Comparison]) -> Iterator[str]:
    yield "| name | their file | what | theirs | ours | why |"
    yield "|---|---|---|---|---|---|"
    for each in comparisons:
        case = f"| {each.expected.name} | `{each.expected.file}` |"
        if not each.same_status:
            yield f"{case} status | {each.expected.status} | {each.ours} | {each.reason} |"
        if each.compares_breaks and not each.same_breaks:
            theirs = each.expected.graph_breaks
            yield f"{case} graph breaks | {theirs} | {each.breaks} | {each.reason} |"
