"""A result as a table that a person reads in a terminal."""

from collections.abc import Iterator

from benchmarks_suite.harness.contract import Document

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
    ("_ratio", "×"),
)


def rendered(result: Document) -> str:
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
        sampling = result["sampling"]
        width = sampling["half_width_percent"]
        percent = "" if width is None else f", ±{width:.2f}%"
        stop = f"stopped by {sampling['stopped_by']} after {sampling['pairs']} pairs"
        lines += ["", f"sampling {stop}{percent}"]
    lines += [*_shapes(result.get("sweep", {}))]
    lines += [*_graph_breaks(result.get("compile", {}))]
    lines += [f"mark: {mark['kind']}: {mark['detail']}" for mark in result["marks"]]
    lines += ["", "absent:", *_absent(result["absent"]), ""]
    wall_s = [f"{stage} {s:.1f} s" for stage, s in result["wall_s"].items() if s >= 0.05]
    lines.append(f"wall time: {', '.join(wall_s)}")
    lines.append(f"repeat: {result['reproduce']}")
    return "\n".join(lines)


def _shapes(sweep: Document) -> Iterator[str]:
    """The walk through shapes: what each of them cost."""
    if not sweep:
        return
    yield ""
    yield f"{'':<26} {'first ms':>10} {'later ms':>10} {'recompiles':>10} {'lost ms':>10}   slow"
    for shape in sweep["shapes"]:
        times = [number(shape[key]) for key in ("first_ms", "later_ms", "recompiles", "lost_ms")]
        cells = " ".join(f"{text:>10}" for text in times)
        yield f"  {shape['label']:<24} {cells}   {shape['slow_steps']} of {sweep['steps']}"


def _graph_breaks(compiled: Document) -> Iterator[str]:
    """Yield where and why the graph broke, and how many of the frames compiled."""
    breaks = compiled.get("graph_breaks", [])
    if not breaks:
        return
    yield ""
    for each in breaks:
        reason = " ".join(each["reason"].split())
        yield f"graph break: {reason} ({each.get('location') or 'place unknown'})"
    counters = compiled.get("counters", {})
    if "frames.total" in counters:
        compiled_frames = counters.get("frames.ok", 0)
        yield f"frames compiled: {compiled_frames:.0f} of {counters['frames.total']:.0f}"


def _metric(key: str, entry: Document) -> str:
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
