"""Everything that could stop `make up` halfway, checked before it begins."""

import os
import re
import subprocess
from dataclasses import dataclass

from dashboard.local import machine_facts
from dashboard.local.console import print_error, print_info
from dashboard.local.machine_facts import MachineFacts

MACHINES = ("x86_64", "aarch64")  # the wheels of torch, Postgres and Valkey exist for these
DATA_GB = 1.0  # an empty database and the logs; environments of other builds take more
SPLITS_PATHS = re.compile(r"[\s'\"\\]")  # Inductor does not quote every path for the linker
OLDEST_GLIBC = (2, 28)  # what torch's wheels are built for (manylinux_2_28)


@dataclass(frozen=True)
class Problem:
    """Something that has to be fixed first.

    what: the problem, with its place
    remedy: what to do
    package: the Debian package that fixes it
    """

    what: str
    remedy: str
    package: str | None = None


def find_problems(facts: MachineFacts) -> list[Problem]:
    """The problems, in the order in which a person would fix them. Pure."""
    return [*_unsupported_system(facts), *_missing_packages(facts), *_missing_room(facts)]


def prepare_machine(*, needs_port: bool) -> bool:
    """Check the machine; as root on Debian or Ubuntu install what is missing. Whether it is fit.

    Anybody else gets all problems at once, with one apt-get line, and nothing is changed.
    """
    facts = machine_facts.collect(needs_port=needs_port)
    problems = find_problems(facts)
    packages = [problem.package for problem in problems if problem.package]
    if packages and len(packages) == len(problems) and facts.is_root and facts.has_apt:
        print_info(f"installing what this system lacks: {' '.join(packages)}")
        if not apt_install(packages):
            print_error("apt-get failed, see above: fix it and start again")
            return False
        problems = find_problems(machine_facts.collect(needs_port=needs_port))
    for line in remedies(problems, facts):
        print_error(line)
    return not problems


def remedies(problems: list[Problem], facts: MachineFacts) -> list[str]:
    """One line for each problem; those that packages fix share one apt-get line."""
    lines, packages, packaged = [], [], []
    for problem in problems:
        if problem.package and facts.has_apt:
            packaged.append(problem.what)
            packages.append(problem.package)
        else:
            lines.append(f"{problem.what}: {problem.remedy}")
    if packages:
        lines.append(f"{'; '.join(packaged)}. Run this, then start again:")
        lines.append(f"    sudo apt-get install -y {' '.join(packages)}")
    return lines


def taken_port(port: int, holder: str) -> Problem:
    """The site's port is not free. holder: as of machine_facts.port_holder."""
    what = f"port {port} is taken by {holder}"
    return Problem(what, f"stop it, or give the same command another port: PORT={port + 1}")


def apt_install(packages: list[str]) -> bool:
    """Install Debian packages as root, its progress shown; whether it worked."""
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    update = ["apt-get", "update", "-q"]
    install = ["apt-get", "install", "-y", "-q", "--no-install-recommends", *packages]
    for command in (update, install):
        process = subprocess.run(command, env=environment, check=False, stdin=subprocess.DEVNULL)
        if process.returncode != 0:
            return False
    return True


def _unsupported_system(facts: MachineFacts) -> list[Problem]:
    if facts.system != "Linux" or facts.machine not in MACHINES:
        remedy = (
            "PyTorch, Postgres and Valkey come as wheels for Linux on x86_64 and aarch64: "
            "use such a machine"
        )
        return [Problem(f"this is {facts.system} on {facts.machine}", remedy)]
    if facts.glibc < OLDEST_GLIBC:
        library = "a C library that is not glibc"
        if facts.glibc[0]:
            library = "glibc {}.{}".format(*facts.glibc)
        remedy = "PyTorch's wheels need glibc 2.28 or later: use Debian 10, Ubuntu 20.04 or later"
        return [Problem(f"this system has {library}", remedy)]
    return []


def _missing_packages(facts: MachineFacts) -> list[Problem]:
    python = f"python{facts.python[0]}.{facts.python[1]}"
    missing = {}
    if not facts.has_venv:
        missing[f"{python}-venv"] = f"{python} cannot make virtual environments (no ensurepip)"
    if not facts.has_compiler:
        missing["g++"] = "there is no C++ compiler, which torch.compile calls (no g++ on PATH)"
    if not facts.has_headers:
        missing[f"{python}-dev"] = f"the headers of {python} are missing (no Python.h)"
    return [
        Problem(what, f"install what your system calls {package}", package)
        for package, what in missing.items()
    ]


def _missing_room(facts: MachineFacts) -> list[Problem]:
    problems = []
    if facts.closed_folder:
        what = f"{facts.closed_folder} cannot be written to"
        remedy = "start as its owner, or clone the project into a folder of your own"
        problems.append(Problem(what, remedy))
    for folder in facts.compiler_folders:
        if SPLITS_PATHS.search(str(folder)):
            what = f"the path “{folder}” has a space or a quote, with which torch.compile fails"
            remedy = "clone the project into, or set VAR_DIR or TMPDIR to, a path without one"
            problems.append(Problem(what, remedy))
            break
    if facts.free_gb < facts.needed_gb:
        what = (
            f"{facts.folder} has {facts.free_gb:.1f} GB free and {facts.needed_gb:.0f} GB are "
            "needed"
        )
        problems.append(Problem(what, "make room there, or clone the project onto another disk"))
    if facts.data_free_gb is not None and facts.data_free_gb < DATA_GB:
        what = (
            f"the data folder {facts.data_folder} is on a disk with {facts.data_free_gb:.2f} GB "
            f"free, and {DATA_GB:.0f} GB is needed"
        )
        problems.append(Problem(what, "make room there, or set VAR_DIR to a folder elsewhere"))
    if facts.port_holder:
        problems.append(taken_port(facts.port, facts.port_holder))
    return problems
