"""The report of tests/perf/field_runner.py: its lines as tables, and what they say together."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import fmean, median
from typing import Any

from benchmarks_suite.harness import recorded
from benchmarks_suite.harness.contract import Document

THEIRS, OURS = "benchmarks/dynamo", "suite"


def report(lines: Sequence[Document], results: Sequence[Path]) -> Iterator[str]:
    measured = [line for line in lines if "turns" in line]
    for line in lines:
        if "error" in line:
            yield f"{line['name']}, process {line['process']}: {line['error']}"
    if not measured:
        return
    where = {f"torch {line['torch']}, {line['device']}" for line in measured}
    yield f"{len(measured)} processes, {', '.join(sorted(where))}\n"
    yield (
        "| name | steps, ms, theirs | ours | speedup, theirs | ours | inside | half width, theirs "
        "| ours |"
    )
    yield "|---|---|---|---|---|---|---|---|"
    for name in dict.fromkeys(line["name"] for line in measured):
        yield row(name, [line for line in measured if line["name"] == name])
    yield ""
    yield from summary_lines(measured)
    yield ""
    yield from costs(measured, results)


def row(name: str, lines: Sequence[Document]) -> str:
    theirs, ours = turns_of(lines, THEIRS), turns_of(lines, OURS)
    cells = [
        name,
        steps(theirs),
        steps(ours),
        ", ".join(f"{speedup_of(turn):.4f}" for turn in theirs),
        ", ".join(f"{speedup_of(turn):.4f}" for turn in ours),
        f"{sum(inside(line) for line in lines)} of {len(theirs)}",
        f"{half_width(theirs):.2f}%",
        f"{half_width(ours):.2f}%",
    ]
    return f"| {' | '.join(cells)} |"


def steps(turns: Sequence[Document]) -> str:
    """Eager and compiled milliseconds: the medians of the turns' medians."""
    eager = median(median(turn["eager"]) for turn in turns)
    compiled = median(median(turn["compiled"]) for turn in turns)
    return f"{eager:.3g}, {compiled:.3g}"


def summary_lines(lines: Sequence[Document]) -> Iterator[str]:
    """Over all names: how far apart, how wide, how well each repeats. Of their pairs the interval
    is made as of ours.
    """
    turns = sum(len(turns_of([line], THEIRS)) for line in lines)
    yield f"Theirs inside our interval of the same process: {sum(map(inside, lines))} of {turns}"
    names = list(dict.fromkeys(line["name"] for line in lines))
    apart = []
    for name in names:
        of_name = [line for line in lines if line["name"] == name]
        theirs = median(map(speedup_of, turns_of(of_name, THEIRS)))
        ours = median(map(speedup_of, turns_of(of_name, OURS)))
        apart.append(abs(theirs / ours - 1) * 100)
    yield f"Distance of the medians, percent: median {median(apart):.2f}, largest {max(apart):.2f}"
    for way in (THEIRS, OURS):
        widths, within, between = [], [], []
        for name in names:
            of_name = [line for line in lines if line["name"] == name]
            widths.append(half_width(turns_of(of_name, way)))
            by_process = [list(map(speedup_of, turns_of([line], way))) for line in of_name]
            within += [range_percent(values) for values in by_process if len(values) > 1]
            if len(by_process) > 1:
                between.append(range_percent([median(values) for values in by_process]))
        text = f"{way}: half width of the interval {median(widths):.2f}% (median of the names)"
        if between:
            text += f"; processes differ by {median(between):.2f}% (largest {max(between):.2f}%)"
        if within:
            text += f", two turns of one by {median(within):.2f}% (largest {max(within):.2f}%)"
        yield text


def costs(lines: Sequence[Document], results: Sequence[Path]) -> Iterator[str]:
    """Seconds of a case either way, and so cases per hour."""
    seconds = [their_seconds(line) for line in lines]
    yield (
        f"Their way: {median(seconds):.1f} s a case (imports, building, warm-ups with compiling, "
        f"one turn), {per_hour(seconds)}, without the second process that checks the accuracy"
    )
    for way in (THEIRS, OURS):
        of_a_turn = [turn["seconds"] for turn in turns_of(lines, way)]
        yield f"A turn of {way} takes {median(of_a_turn):.2f} s"
    names = {line["benchmark"] for line in lines}
    jobs_s = []
    for path in results:
        for document in recorded.read(path):
            if document["benchmark"]["name"] in names and document["status"] == "pass":
                jobs_s.append(sum(document["wall_s"].values()))
    if jobs_s:
        yield (
            f"The suite's jobs of the same names: {median(jobs_s):.1f} s (of {len(jobs_s)}), "
            f"{per_hour(jobs_s)}, with accuracy, memory and a profile of both arms"
        )


def per_hour(seconds: Sequence[float]) -> str:
    return f"{3600 / fmean(seconds):.0f} cases per hour"


def their_seconds(line: Document) -> float:
    """What a process of theirs would have taken: all parts, and one turn of its own."""
    turn_s = turns_of([line], THEIRS)[0]["seconds"]
    return float(line["import_s"] + sum(line["seconds"].values()) + turn_s)


def turns_of(lines: Sequence[Document], way: str) -> list[Document]:
    turns = []
    for line in lines:
        turns += [turn for turn in line["turns"] if turn["way"] == way]
    return turns


def speedup_of(turn: Document) -> float:
    """Each way by its own rule: the quotient of medians, the median of the pairs' quotients."""
    if turn["way"] == THEIRS:
        return float(median(turn["eager"]) / median(turn["compiled"]))
    return float(interval(turn).value)


def interval(turn: Document) -> Any:
    """The suite's interval of the speedup; of their pairs, too, which keep none of their own."""
    from benchmarks_suite.harness.timing import Samples, speedup

    eager, compiled = Samples(1, turn["eager"]), Samples(1, turn["compiled"])
    return speedup(eager, compiled)


def inside(line: Document) -> int:
    """How many of their turns lie in the interval of ours."""
    (ours,) = map(interval, turns_of([line], OURS))
    theirs = map(speedup_of, turns_of([line], THEIRS))
    return sum(ours.low <= speedup <= ours.high for speedup in theirs)


def half_width(turns: Sequence[Document]) -> float:
    widths: list[float] = [interval(turn).half_width_percent for turn in turns]
    return median(widths)


def range_percent(values: Sequence[float]) -> float:
    return (max(values) - min(values)) / median(values) * 100
