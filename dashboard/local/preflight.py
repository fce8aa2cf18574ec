"""Everything that could stop `make up` halfway, looked for before it begins."""

import os
import subprocess
from dataclasses import dataclass

from dashboard.local.console import complain, say
from dashboard.local.probe import Facts, probe

MACHINES = ("x86_64", "aarch64")  # the wheels of torch, Postgres and Valkey exist for these
OLDEST_GLIBC = (2, 28)  # what torch's wheels are built for (manylinux_2_28)


@dataclass(frozen=True)
class Problem:
    """One thing that is not fit: what and where, and what to do; `package` is Debian's name of the
    remedy.
    """

    what: str
    remedy: str
    package: str | None = None


def problems(facts: Facts) -> list[Problem]:
    """What is not fit, in the order in which a person would mend it. Pure."""
    return [*_machine(facts), *_missing_packages(facts), *_room(facts)]


def make_fit(*, needs_port: bool) -> bool:
    """Look at the machine; as root on Debian or Ubuntu install what is missing. Whether it is fit
    now.

    Anybody else is told everything at once, with one line to give to apt-get, and nothing is
    touched.
    """
    facts = probe(needs_port=needs_port)
    found = problems(facts)
    packages = [problem.package for problem in found if problem.package]
    if packages and len(packages) == len(found) and facts.is_root and facts.has_apt:
        say(f"installing what this system lacks: {' '.join(packages)}")
        if not apt_install(packages):
            complain("apt-get failed, see above: mend it and start again")
            return False
        found = problems(probe(needs_port=needs_port))
    for line in advice(found, facts):
        complain(line)
    return not found


def advice(found: list[Problem], facts: Facts) -> list[str]:
    """One line for each problem, those that packages mend under one common apt-get line."""
    apart = [problem for problem in found if not (problem.package and facts.has_apt)]
    mended = [problem for problem in found if problem.package and facts.has_apt]
    lines = [f"{problem.what}: {problem.remedy}" for problem in apart]
    if mended:
        packages = " ".join(problem.package for problem in mended if problem.package)
        lines.append(
            f"{'; '.join(problem.what for problem in mended)}. Run this, then start again:"
        )
        lines.append(f"    sudo apt-get install -y {packages}")
    return lines


def apt_install(packages: list[str]) -> bool:
    """Install Debian packages as root, its progress shown; whether it worked."""
    quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    update = ["apt-get", "update", "-q"]
    install = ["apt-get", "install", "-y", "-q", "--no-install-recommends", *packages]
    return all(
        subprocess.run(command, env=quiet, check=False, stdin=subprocess.DEVNULL).returncode == 0
        for command in (update, install)
    )


def _machine(facts: Facts) -> list[Problem]:
    if facts.system != "Linux" or facts.machine not in MACHINES:
        return [
            Problem(
                f"this is {facts.system} on {facts.machine}",
                "PyTorch, Postgres and Valkey come as wheels for Linux on x86_64 and aarch64: "
                "use such a machine",
            )
        ]
    if facts.glibc < OLDEST_GLIBC:
        name = (
            "glibc {}.{}".format(*facts.glibc)
            if facts.glibc[0]
            else "a C library that is not glibc"
        )
        return [
            Problem(
                f"this system has {name}",
                "PyTorch's wheels need glibc 2.28 or later: use Debian 10, Ubuntu 20.04 or later",
            )
        ]
    return []


def _missing_packages(facts: Facts) -> list[Problem]:
    python = f"python{facts.python[0]}.{facts.python[1]}"
    wanted = [
        (
            facts.has_venv,
            f"{python} cannot make virtual environments (no ensurepip)",
            f"{python}-venv",
        ),
        (
            facts.has_compiler,
            "there is no C++ compiler, which torch.compile calls (no g++ on PATH)",
            "g++",
        ),
        (facts.has_headers, f"the headers of {python} are missing (no Python.h)", f"{python}-dev"),
    ]
    return [
        Problem(what, f"install what your system calls {package}", package)
        for fit, what, package in wanted
        if not fit
    ]


def _room(facts: Facts) -> list[Problem]:
    found = []
    if facts.closed_folder:
        found.append(
            Problem(
                f"{facts.closed_folder} cannot be written to",
                "start as its owner, or clone the project into a folder of your own",
            )
        )
    if facts.free_gb < facts.needed_gb:
        found.append(
            Problem(
                f"{facts.folder} has {facts.free_gb:.1f} GB free and {facts.needed_gb:.0f} GB "
                "are needed",
                "make room there, or clone the project onto another disk",
            )
        )
    if facts.port_holder:
        found.append(
            Problem(
                f"port {facts.port} is taken by {facts.port_holder}",
                f"stop it, or give the same command another port: PORT={facts.port + 1}",
            )
        )
    return found
