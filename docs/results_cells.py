"""What docs/results.py writes into a cell of a table, and a table."""

from collections.abc import Iterable, Sequence
from statistics import median

from packaging.version import Version
from results_summary import Document, median_of, values

_NO_COPY, _NO_ORIGINAL = Version("0.2.0"), Version("0.3.0")
MADE_FROM_ANOTHER = {"llama_int8", "distributed"}  # a model, and a family
MAX_LISTED = 4  # a cell lists the values of up to so many processes


def table(rows: Iterable[Sequence[str]]) -> str:
    header, *body = [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join([header, "|---" * (header.count("|") - 1) + "|", *body])


def arrow(old: Sequence[Document], new: Sequence[Document], metric: str, digits: int) -> str:
    before, after = each_value(old, metric, digits), each_value(new, metric, digits)
    return f"{before} → {after}" if before and after else "–"


def each_value(processes: Sequence[Document], metric: str, digits: int) -> str:
    """The value of each process; the median of many."""
    numbers = values(processes, metric)
    if len(numbers) > MAX_LISTED:
        return f"{number_text(median(numbers), digits)} (median of {len(numbers)})"
    return ", ".join(number_text(number, digits) for number in numbers)


def memory(processes: Sequence[Document]) -> str:
    """Of processes in which the suite counted one model alone, if there are any; else eager's has a
    star.
    """

    def newest(metric: str) -> tuple[str, str]:
        measured = [each for each in processes if values([each], metric)]
        counted = list(filter(_counts_one_model, measured))
        star = "*" if measured and not counted else ""
        return median_cell(counted or measured, metric, 3), star

    compiled, _ = newest("peak_memory_gb")
    return f"{compiled} ({''.join(newest('eager_peak_memory_gb'))})"


def _counts_one_model(process: Document) -> bool:
    """Whether eager's memory has neither the suite's copy nor what the model was made from."""
    benchmark = process["benchmark"]
    is_made = {benchmark["model"], benchmark["family"]} & MADE_FROM_ANOTHER
    return Version(process["suite_version"]) >= (_NO_ORIGINAL if is_made else _NO_COPY)


def median_cell(processes: Sequence[Document], metric: str, digits: int) -> str:
    return number_text(median_of(processes, metric), digits)


def percent(value: float | None) -> str:
    return "–" if value is None else f"{value:.1f}%"


def number_text(value: float | None, digits: int) -> str:
    return "–" if value is None else f"{float(f'{value:.{digits}g}'):,.6g}"


def short_name(benchmark: str) -> str:
    """gpt2.standard.inference.bfloat16.static.b16 -> gpt2, inference, bfloat16, static, b16."""
    return ", ".join(part for part in benchmark.split(".") if part != "standard")
