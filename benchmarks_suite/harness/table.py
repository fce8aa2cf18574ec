"""A result as a table that a person reads in a terminal."""

from typing import Any

_UNITS = (
    ("_per_s", "/s"),
    ("_ms", "ms"),
    ("_us", "µs"),
    ("_s", "s"),
    ("_gb", "GB"),
    ("_mb", "MB"),
    ("_percent", "%"),
    ("_w", "W"),
    ("_mhz", "MHz"),
    ("_steps", "steps"),
    ("speedup", "×"),
    ("compression_ratio", "×"),
)


def rendered(result: dict[str, Any]) -> str:
    """Status, metrics with intervals, what is absent and why, marks, and the command that repeats
    it.
    """
    torch, machine = result["environment"]["torch"], result["environment"]["machine"]
    lines = [
        f"{result['benchmark']['name']}  {result['job']['config']}: {result['status']}",
        *([result["message"]] if result["message"] else []),
        (
            f"torch {torch['version']} on {machine.get('gpu') or machine['cpu']}, "
            f"{machine['cores']} cores"
        ),
        "",
        *(_metric(key, entry) for key, entry in result["metrics"].items() if key != "passed"),
    ]
    if result.get("sampling"):
        sampling = result["sampling"]
        width = sampling["half_width_percent"]
        lines += [
            "",
            f"sampling stopped by {sampling['stopped_by']} after {sampling['pairs']} pairs"
            + (f", ±{width:.2f} %" if width is not None else ""),
        ]
    lines += [f"mark: {mark['kind']}: {mark['detail']}" for mark in result["marks"]]
    lines += [
        "",
        "absent:",
        *(f"  {key:<26} {reason}" for key, reason in _short(result["absent"]).items()),
    ]
    return "\n".join(
        [*lines, "", f"wall time: {_wall(result['wall_s'])}", f"repeat: {result['reproduce']}"]
    )


def _metric(key: str, entry: dict[str, Any]) -> str:
    unit = next((unit for suffix, unit in _UNITS if key.endswith(suffix)), "")
    text = f"  {key:<26} {number(entry['value']):>10} {unit:<5}"
    low, high = entry.get("low"), entry.get("high")
    if low is None and high is None:
        return text.rstrip()
    ends = ["?" if end is None else number(end) for end in (low, high)]
    return f"{text} {' … '.join(ends)}  n={entry['n']}"


def number(value: float) -> str:
    """Four significant digits, without an exponent where people would not use one."""
    if value == 0 or 1e-3 <= abs(value) < 1e6:
        digits = f"{value:.4g}"
        return digits if "e" not in digits else f"{value:.0f}"
    return f"{value:.2e}"


def _short(absent: dict[str, str]) -> dict[str, str]:
    """One line for each reason: the keys that share it, together."""
    by_reason: dict[str, list[str]] = {}
    for key, reason in absent.items():
        by_reason.setdefault(reason, []).append(key)
    return {
        keys[0] if len(keys) == 1 else f"{keys[0]} and {len(keys) - 1} more": reason
        for reason, keys in by_reason.items()
    }


def _wall(wall_s: dict[str, float]) -> str:
    return ", ".join(
        f"{stage} {seconds:.1f} s" for stage, seconds in wall_s.items() if seconds >= 0.05
    )
