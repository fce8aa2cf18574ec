"""What a step's kernels take once their launches are evened out. Pure.

How a generated kernel is launched, with how many threads a block and how much work for each,
Inductor mostly chooses by timing, in each process that finds no choice in its cache. So two
processes of one build may differ by several per cent where the same kernel, launched alike, repeats
to a fraction of one. Evened out, every kernel takes the time of its fastest launch in the processes
of its side; and where both sides have its source and launched it otherwise, it counts as unchanged.

It is an estimate. In few processes none may have chosen a kernel's fastest launch, which shows
where the source differs between the sides; and of a source that both have, what else changed is
left out with the launch. A kernel that got another process's time scatters no more by itself.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from dashboard.language.metrics import METRICS
from dashboard.language.wording import span
from dashboard.results.core.kernel_profile import ArmProfile, Kernel

LEAST_PROCESSES = 2  # of a side on a device; of one there is no other launch to choose from
Key = tuple[str, float]  # a Triton source and its calls in a step
Shape = tuple[tuple[int, ...], tuple[int, ...]]  # grid and block


@dataclass(frozen=True, slots=True)
class _Launched:
    """One source in one process. ms: of all its calls in a step."""

    ms: float
    kernels: tuple[Kernel, ...]

    @property
    def shapes(self) -> list[Shape]:
        """What another build's compiler leaves as it is, where it chooses the same."""
        return sorted((kernel.grid, kernel.block) for kernel in self.kernels)

    @property
    def launches(self) -> list[tuple[Shape, int, int]]:
        """What one build's compiler leaves as it is: a loop in other steps shows in these alone."""
        return sorted(
            ((kernel.grid, kernel.block), kernel.registers or 0, kernel.shared_bytes or 0)
            for kernel in self.kernels
        )


@dataclass(frozen=True, slots=True)
class EvenedChange:
    """least, most: percent by which the kernels of a step changed from a process of one side to one
    of the other, of all such pairs on one device. processes: of either side.
    is_evened: whether any source was launched in several ways; else it is what was measured.
    """

    least: float
    most: float
    processes: int
    is_evened: bool

    @property
    def words(self) -> str:
        """ "9.0 to 9.2% faster"."""
        return span(METRICS["device_ms"], self.least, self.most)


OnOneDevice = tuple[Sequence[ArmProfile], Sequence[ArmProfile]]
"""Processes of the base and of the new build, of one arm and case."""


def evened_ms(processes: Sequence[ArmProfile]) -> list[float]:
    """(processes,) All kernels of a step, in ms. processes: of one arm, case, build and device."""
    return _evened(processes, _fastest(processes))


def evened_change(devices: Sequence[OnOneDevice]) -> EvenedChange | None:
    """None where no device has LEAST_PROCESSES of both sides.

    Of a device as many of both sides count, the first ones: of more processes the fastest launch of
    a kernel is a faster one, by chance alone.
    """
    changes, is_evened, processes = list[float](), False, 0
    for measured, measured_new in devices:
        count = min(len(measured), len(measured_new))
        if count < LEAST_PROCESSES:
            continue
        base, new = measured[:count], measured_new[:count]
        fastest, fastest_new = _fastest(base), _fastest(new)
        by_launch = _by_launch(fastest, fastest_new)
        sides = _evened(base, fastest), _evened(new, fastest_new)
        changes += [100 * ((after - by_launch) / before - 1) for before, after in product(*sides)]
        totals = [process.total_ms for process in (*base, *new)]
        is_evened |= by_launch != 0 or [*sides[0], *sides[1]] != totals
        processes += count
    if not changes:
        return None
    return EvenedChange(min(changes), max(changes), processes, is_evened)


def _fastest(processes: Sequence[ArmProfile]) -> dict[Key, _Launched]:
    """Each source as it was launched where it took least."""
    fastest: dict[Key, _Launched] = {}
    for process in processes:
        for key, launched in _by_source(process).items():
            if key not in fastest or launched.ms < fastest[key].ms:
                fastest[key] = launched
    return fastest


def _by_source(process: ArmProfile) -> dict[Key, _Launched]:
    kernels: dict[str, list[Kernel]] = {}
    for kernel in process.kernels:
        if kernel.source and kernel.grid:
            kernels.setdefault(kernel.source, []).append(kernel)
    by_source = {}
    for source, of_source in kernels.items():
        ms = sum(kernel.ms for kernel in of_source)
        calls = sum(kernel.calls for kernel in of_source)
        by_source[source, calls] = _Launched(ms, tuple(of_source))
    return by_source


def _evened(processes: Sequence[ArmProfile], fastest: Mapping[Key, _Launched]) -> list[float]:
    evened = []
    for process in processes:
        total = process.total_ms
        for key, launched in _by_source(process).items():
            if launched.launches != fastest[key].launches:
                total -= launched.ms - fastest[key].ms
        evened.append(total)
    return evened


def _by_launch(base: Mapping[Key, _Launched], new: Mapping[Key, _Launched]) -> float:
    """What the new side takes more, in ms, of sources that both have and launch otherwise."""
    shared = base.keys() & new.keys()
    otherwise = [key for key in shared if base[key].shapes != new[key].shapes]
    return sum(new[key].ms - base[key].ms for key in otherwise)
