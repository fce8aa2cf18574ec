"""Writes the generated pages of the documentation: python docs/reference.py [FOLDER].

A test checks that they are current.
"""

import argparse
import os
import re
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from secrets import token_hex

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
os.environ.setdefault("SECRET_KEY", token_hex(32))
os.environ.setdefault("DATABASE_URL", "postgresql://nowhere/compilewatch")
os.environ.setdefault("BROKER_URL", "memory://")
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "dashboard.settings")

import django  # noqa: E402
from django.core.management import get_commands, load_command_class  # noqa: E402

from benchmarks_suite import commands, configs  # noqa: E402
from benchmarks_suite.published import MADE_HERE, SOURCES  # noqa: E402
from dashboard.language.glossary import WORDS  # noqa: E402
from dashboard.language.metrics import METRICS, Metric  # noqa: E402

FOOTER = "\nThis page is written by `python docs/reference.py`.\n"
# Django gives these to every command
COMMON_OPTIONS = {
    "--help",
    "--version",
    "--verbosity",
    "--settings",
    "--pythonpath",
    "--traceback",
    "--no-color",
    "--force-color",
    "--skip-checks",
}


def main() -> None:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs"
    django.setup()
    pages = {
        "words": words_page(),
        "metrics": metrics_page(),
        "models": models_page(),
        "configs": configs_page(),
        "commands": commands_page(),
    }
    for name, text in pages.items():
        (folder / f"reference-{name}.md").write_text(f"{text.rstrip()}\n{FOOTER}")


def words_page() -> str:
    about = (
        "What is meant by the words of the pages, the code and these documents: each has "
        "one sense everywhere."
    )
    return f"# Words\n\n{about}\n\n{table(('word', 'meaning'), WORDS.items())}"


def metrics_page() -> str:
    header = ("key", "metric", "unit", "better", "threshold", "judged", "what it is")
    rows = [
        (
            f"`{metric.key}`",
            metric.label,
            metric.unit,
            "lower" if metric.lower_is_better else "higher",
            _threshold(metric),
            "yes" if metric.alerts else "",
            metric.about,
        )
        for metric in METRICS.values()
    ]
    about = (
        "What a result can hold. *Threshold* is the default: a change is reported from three "
        "quarters of it on. "
        "*Judged* are the metrics that raise alerts; the others follow from them, or are shown "
        "next to them."
    )
    return f"# Metrics\n\n{about}\n\n{table(header, rows)}"


def _threshold(metric: Metric) -> str:
    least = f" and {metric.least:g} {metric.unit}" if metric.least else ""
    return f"{metric.threshold_percent:g} %{least}"


def models_page() -> str:
    header = ("model", "taken from", "the same", "what differs")
    rows = []
    for source in SOURCES:
        rows.append(
            (f"`{source.model}`", f"[{source.name}]({source.address})", source.same, source.differs)
        )
    about = (
        "The standard size of each model next to what it is taken from. Everywhere weights are "
        "drawn, not trained, inputs are random, batches are chosen for one GPU of 80 GB, and the "
        "dtype is in the benchmark's name. The smoke size has the same kinds of layers, fewer and "
        "narrower. `python -m benchmarks_suite list` prints every case."
    )
    made_here = ", ".join(f"`{model}`" for model in MADE_HERE)
    return (
        f"# Models\n\n{about}\n\n{table(header, rows)}\n"
        f"Made for this suite, with nothing published to compare: {made_here}.\n"
    )


def configs_page() -> str:
    header = ("name", "label", "what it does", "for", "since torch")
    rows = []
    for config in configs.CONFIGS.values():
        since = ".".join(map(str, config.since))
        rows.append((f"`{config.name}`", config.label, config.about, _limits(config), since))
    about = (
        "The named ways to execute a benchmark. In addition, `backend_<name>` is any registered "
        "backend of `torch.compile`."
    )
    return f"# Configs\n\n{about}\n\n{table(header, rows)}"


def _limits(config: configs.Config) -> str:
    """The modes, shape profiles and devices that the config is for."""
    limits = [*config.modes, *config.shapes]
    if config.gpu_only:
        limits.append("GPU")
    return ", ".join(limits) or "all"


def commands_page() -> str:
    about = "Every command with its arguments, as the programs themselves say it."
    makefile = (ROOT / "Makefile").read_text()
    targets = re.findall(r"^([a-z-]+):\s+## (.*)$", makefile, re.MULTILINE)
    rows = [(f"`make {name}`", about) for name, about in targets]
    parts = [
        f"# Commands\n\n{about}\n\n",
        f"## `make`\n\n{table(('command', 'what it does'), rows)}\n",
        "## `python -m benchmarks_suite`\n\nMeasures, without any server.\n\n",
    ]
    for name, command in commands.COMMANDS.items():
        parser = argparse.ArgumentParser()
        command.declare(parser)
        parts.append(_command(f"python -m benchmarks_suite {name}", command.help, parser))
    parts.append(
        "## `python manage.py`\n\nWorks on the site's database: run it where the site runs.\n\n"
    )
    for name, app in sorted(get_commands().items()):
        if app == "dashboard":
            command = load_command_class(app, name)
            parser = command.create_parser("manage.py", name)
            parts.append(_command(f"python manage.py {name}", command.help, parser))
    return "".join(parts)


def _command(line: str, about: str, parser: argparse.ArgumentParser) -> str:
    actions = []
    for action in parser._actions:
        is_common = COMMON_OPTIONS & set(action.option_strings)
        if not is_common and action.help != argparse.SUPPRESS:
            actions.append(action)
    rows = [(_argument(action), (action.help or "").replace("%%", "%")) for action in actions]
    arguments = f"{table(('argument', 'meaning'), rows)}\n" if rows else ""
    epilog = f"```\n{parser.epilog}```\n\n" if parser.epilog else ""
    return f"### `{line}`\n\n{about[:1].upper()}{about[1:].rstrip('.')}.\n\n{arguments}{epilog}"


def _argument(action: argparse.Action) -> str:
    if not action.option_strings:
        return f"`{action.metavar or action.dest.upper()}`"
    value = "" if action.nargs == 0 else f" {action.metavar or action.dest.upper()}"
    return f"`{', '.join(action.option_strings)}{value}`"


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = []
    for row in (header, ["---"] * len(header), *rows):
        cells = [cell.replace("|", "\\|") for cell in row]
        lines.append(f"| {' | '.join(cells)} |\n")
    return "".join(lines)


if __name__ == "__main__":
    main()
