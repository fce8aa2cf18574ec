"""The script that `git bisect run` takes: one commit of PyTorch in, good, bad or skip out. Pure."""

import shlex
from dataclasses import dataclass

PROCESSES = 5  # of one commit
BUILD = "python -m pip install --no-build-isolation -v -e ."


@dataclass(frozen=True, slots=True)
class BisectTask:
    """Commits, command and threshold by which the script decides.

    good, bad: commits of PyTorch.
    command: of the suite, which measures the case.
    metric: empty for a case that fails: bad is what does not pass.
    threshold: halfway between both levels, in the metric's own unit.
    is_bad_above: whether the new level is the larger one.
    """

    alert: str
    good: str
    bad: str
    command: str
    metric: str
    threshold: float
    is_bad_above: bool


def script(task: BisectTask) -> str:
    """A POSIX shell script: exits 0 for good, 1 for bad, 125 where that cannot be said, 255 where
    it cannot be run.
    """
    return _TEMPLATE.format(
        alert=task.alert,
        good=task.good,
        bad=task.bad,
        build=BUILD,
        processes=PROCESSES,
        metric=shlex.quote(task.metric),
        threshold=f"{task.threshold:.6g}",
        above=int(task.is_bad_above),
        command=task.command,
    )


_TEMPLATE = """\
#!/bin/sh
# {alert}
# Finds the commit of PyTorch since which this case changed. In a clone of pytorch/pytorch:
#
#   git bisect start {bad} {good}
#   SUITE=/path/to/compilewatch git bisect run sh /path/to/this.sh
#
# Exits 0 where a commit is good, 1 where it is bad, 125 where that cannot be said (it does not
# build, a process failed, or the processes do not agree): git then tries a neighbour. Exits 255,
# which ends the search, where SUITE is not set: git would take most other numbers for bad.
# THRESHOLD was measured on the machine of the alert: on another one, measure both ends first and
# set it halfway between them. BUILD and PROCESSES can be set, too.
if [ ! -d "${{SUITE:-}}/benchmarks_suite" ]; then
    echo "Set SUITE to a checkout of Compilewatch, which has benchmarks_suite." >&2
    exit 255
fi
BUILD=${{BUILD:-"{build}"}}
PROCESSES=${{PROCESSES:-{processes}}}
export METRIC={metric}
export THRESHOLD=${{THRESHOLD:-{threshold}}}
export BAD_ABOVE={above}

git submodule update --init --recursive >&2 || exit 125
sh -c "$BUILD" >&2 || exit 125

export RESULTS=$(mktemp -d)
trap 'rm -rf "$RESULTS"' EXIT
export PYTHONPATH="$SUITE${{PYTHONPATH:+:$PYTHONPATH}}"
process=0
while [ "$process" -lt "$PROCESSES" ]; do
    process=$((process + 1))
    (cd "$RESULTS" && {command} --out "$RESULTS/$process.json") >&2
done

python - <<'DECIDE'
import glob, json, os, sys

GOOD, BAD, SKIP = 0, 1, 125
metric, threshold = os.environ["METRIC"], float(os.environ["THRESHOLD"])
bad_above = os.environ["BAD_ABOVE"] == "1"
verdicts = []
for path in glob.glob(os.environ["RESULTS"] + "/*.json"):
    try:
        with open(path) as file:
            result = json.load(file)
    except ValueError:  # a process was killed while it wrote
        continue
    if not metric:
        verdicts.append(result["status"] != "pass")
    elif metric in result.get("metrics", {{}}):
        value = result["metrics"][metric]["value"]
        print(metric, value, file=sys.stderr)
        verdicts.append((value > threshold) == bad_above)
bad = sum(verdicts)
# One of five may disagree; with fewer than three nothing is said
if len(verdicts) < 3 or 5 * min(bad, len(verdicts) - bad) > len(verdicts):
    sys.exit(SKIP)
sys.exit(BAD if 2 * bad > len(verdicts) else GOOD)
DECIDE
"""
