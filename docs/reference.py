"""Writes the generated pages of the documentation: python docs/reference.py [FOLDER].

A test holds that they are current.
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
from dashboard.language.glossary import WORDS  # noqa: E402
from dashboard.language.metrics import METRICS, Metric  # noqa: E402

MADE = "\nThis page is written by `python docs/reference.py`.\n"
COMMON = {
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
    made = {
        "words": words(),
        "metrics": metrics(),
        "configs": of_configs(),
        "commands": of_commands(),
    }
    for name, text in made.items():
        (folder / f"reference-{name}.md").write_text(f"{text.rstrip()}\n{MADE}")


def words() -> str:
    about = (
        "What is meant by the words of the pages, the code and these documents: each has "
        "one sense everywhere."
    )
    return f"# Words\n\n{about}\n\n{table(('word', 'meaning'), WORDS.items())}"


def metrics() -> str:
    header = ("key", "metric", "unit", "better", "told from", "judged", "what it is")
    rows = [
        (
            f"`{metric.key}`",
            metric.label,
            metric.unit,
            "lower" if metric.lower_is_better else "higher",
            _told_from(metric),
            "yes" if metric.alerts else "",
            metric.about,
        )
        for metric in METRICS.values()
    ]
    about = (
        "What a result can hold. *Told from* is the default threshold: a smaller change is not "
        "told. *Judged* are the "
        "metrics that raise alerts; the others follow from them, or are shown beside them."
    )
    return f"# Metrics\n\n{about}\n\n{table(header, rows)}"


def _told_from(metric: Metric) -> str:
    least = f" and {metric.least:g} {metric.unit}" if metric.least else ""
    return f"{metric.threshold_percent:g} %{least}"


def of_configs() -> str:
    header = ("name", "label", "what it does", "for", "since torch")
    rows = [
        (f"`{one.name}`", one.label, one.about, _only_for(one), ".".join(map(str, one.since)))
        for one in configs.CONFIGS.values()
    ]
    about = (
        "The named ways to execute a benchmark. Beside them `backend_<name>` is any registered "
        "backend of "
        "`torch.compile`."
    )
    return f"# Configs\n\n{about}\n\n{table(header, rows)}"


def _only_for(config: configs.Config) -> str:
    return (
        ", ".join([*config.modes, *config.shapes, *(["GPU"] if config.gpu_only else [])]) or "all"
    )


def of_commands() -> str:
    about = "Every command with its arguments, as the programs themselves say it."
    parts = [
        f"# Commands\n\n{about}\n\n",
        _make(),
        "## `python -m benchmarks_suite`\n\nMeasures, without any server.\n\n",
    ]
    for name, command in commands.COMMANDS.items():
        parser = argparse.ArgumentParser()
        command.declare(parser)
        parts.append(_command(f"python -m benchmarks_suite {name}", command.help, parser))
    parts.append(
        "## `python manage.py`\n\nWorks on the site's database: run it where the site runs.\n\n"
    )
    ours = sorted(name for name, app in get_commands().items() if app == "dashboard")
    for name in ours:
        made = load_command_class("dashboard", name)
        parts.append(
            _command(f"python manage.py {name}", made.help, made.create_parser("manage.py", name))
        )
    return "".join(parts)


def _make() -> str:
    targets = re.findall(r"^([a-z-]+):\s+## (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    return f"## `make`\n\n{table(('command', 'what it does'), [(f'`make {name}`', about) for name, about in targets])}\n"


def _command(line: str, about: str, parser: argparse.ArgumentParser) -> str:
    actions = [action for action in parser._actions if not COMMON & set(action.option_strings)]
    rows = [(_argument(action), (action.help or "").replace("%%", "%")) for action in actions]
    listed = f"{table(('argument', 'meaning'), rows)}\n" if rows else ""
    return f"### `{line}`\n\n{about[:1].upper()}{about[1:].rstrip('.')}.\n\n{listed}"


def _argument(action: argparse.Action) -> str:
    if not action.option_strings:
        return f"`{action.metavar or action.dest.upper()}`"
    value = "" if action.nargs == 0 else f" {action.metavar or action.dest.upper()}"
    return f"`{action.option_strings[-1]}{value}`"


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table."""
    cells = [header, ["---"] * len(header), *rows]
    return "".join(
        f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |\n" for line in cells
    )


if __name__ == "__main__":
    main()
