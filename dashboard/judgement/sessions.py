"""Sessions: what a day did to all pairs of it, beyond what cancels out of each.

A host may serve one build otherwise today than tomorrow. Pairs of one session then agree better
than those of several, and count for less than they are.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import scipy  # its parts are loaded where they are used: processes that never do stay small

from dashboard.judgement.looks import Look, looks_at
from dashboard.judgement.moderation import Floats

CONTRADICTION_P = 0.01
_ROUNDING = 1e-20  # of squares: values that repeat differ by it
MEAN_LOOKS = (2, 3, 6, 12)
"""Sessions at which a mean over cases is judged."""
BySession = Mapping[str, Sequence[float]]


def contradict(cases: Sequence[BySession]) -> bool:
    """Test whether sessions differ by more than their pairs do, over all cases of a metric.

    For each case the share of its squares that is between sessions, η² = SSB / (SSB + SSW), is
    Beta(dB / 2, dW / 2) where they do not: it depends neither on the case's level nor on its
    spread. One p for all by Stouffer's sum.
    """
    shares, freedom = [], []
    for by_session in cases:
        groups = [np.asarray(values) for values in by_session.values()]
        count = sum(map(len, groups))
        if len(groups) < 2 or count == len(groups):
            continue
        values = np.concatenate(groups)
        total = float(values.var() * count)
        if total > _ROUNDING * float(values @ values):
            within = sum(float(group.var() * len(group)) for group in groups)
            shares.append(1 - within / total)
            freedom.append((len(groups) - 1, count - len(groups)))
    if not shares:
        return False
    between, inside = np.array(freedom).T / 2
    p = np.clip(scipy.stats.beta.sf(shares, between, inside), 1e-12, 1 - 1e-12)
    return bool(scipy.stats.combine_pvalues(p, "stouffer").pvalue < CONTRADICTION_P)


def mean_looks(cases: Sequence[BySession]) -> tuple[float, list[Look]]:
    """The mean over cases, and its looks with sessions as values: none of one session.

    What a session does to all cases cancels out of no mean, however many they are. Sessions of
    less than half of the cases do not count: there somebody measured on what seemed to change.
    """
    sessions = dict.fromkeys(name for by_session in cases for name in by_session)
    full = [name for name in sessions if 2 * sum(name in each for each in cases) >= len(cases)]
    whole = [each for each in cases if all(name in each for name in full)]
    if not (full and whole):
        return float(np.mean([np.mean(np.concatenate(list(each.values()))) for each in cases])), []
    values: Floats = np.array([[np.mean(each[name]) for name in full] for each in whole])
    means = values.mean(axis=0)  # (sessions,)
    [looks] = looks_at(means[None, :], MEAN_LOOKS, are_alike=False)
    return float(means.mean()), looks
