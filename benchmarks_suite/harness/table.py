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
    """Status, metrics with intervals, what is absent and why, marks, and how to repeat it."""
    torch, machine = result["environment"]["torch"], result["environment"]["machine"]
    lines = [f"{result['benchmark']['name']}  {result['job']['config']}: {result['status']}"]
    if result["message"]:
        lines.append(result["message"])
    device = machine.get("gpu") or machine["cpu"]
    lines += [f"torch {torch['version']} on {device}, {machine['cores']} cores", ""]
    for key, entry in result["metrics"].items():
        if key != "passed":
            lines.append(_metric(key, entry))
    if result.get("sampling"):
        lines += ["", _sampling(result["sampling"])]
    lines += [f"mark: {mark['kind']}: {mark['detail']}" for mark in result["marks"]]
    lines += ["", "absent:", *_absent(result["absent"]), ""]
    lines.append(f"wall time: {_wall(result['wall_s'])}")
    lines.append(f"repeat: {result['reproduce']}")
    return "\n".join(lines)


def _sampling(sampling: dict[str, Any]) -> str:
    text = f"sampling stopped by {sampling['stopped_by']} after {sampling['pairs']} pairs"
    width = sampling["half_width_percent"]
    return text if width is None else f"{text}, ±{width:.2f} %"


def _metric(key: str, entry: dict[str, Any]) -> str:
    unit = next((unit for suffix, unit in _UNITS if key.endswith(suffix)), "")
    text = f"  {key:<26} {number(entry['value']):>10} {unit:<5}"
    low, high = entry.get("low"), entry.get("high")
    if low is None and high is None:
        return text.rstrip()
    return f"{text} {_end(low)} … {_end(high)}  n={entry['n']}"


def _end(value: float | None) -> str:
    return "?" if value is None else number(value)


def number(value: float) -> str:
    """Four significant digits, without an exponent where people would not use one."""
    if value == 0 or 1e-3 <= abs(value) < 1e6:
        digits = f"{value:.4g}"
        return f"{value:.0f}" if "e" in digits else digits
    return f"{value:.2e}"


def _absent(absent: dict[str, str]) -> list[str]:
    """One line for each reason, with the first of the keys that share it."""
    keys_by_reason: dict[str, list[str]] = {}
    for key, reason in absent.items():
        keys_by_reason.setdefault(reason, []).append(key)
    lines = []
    for reason, keys in keys_by_reason.items():
        name = keys[0]
        if len(keys) > 1:
            name = f"{name} and {len(keys) - 1} more"
        lines.append(f"  {name:<26} {reason}")
    return lines


def _wall(wall_s: dict[str, float]) -> str:
    stages = [f"{stage} {seconds:.1f} s" for stage, seconds in wall_s.items() if seconds >= 0.05]
    return ", ".join(stages)
