"""``ceilings``: this machine's own matmul rate and copy bandwidth.

Jobs then report which share of them they reach.
"""

import json
from argparse import ArgumentParser, Namespace
from dataclasses import asdict
from pathlib import Path

from benchmarks_suite.harness import progress, table
from benchmarks_suite.harness.contract import WrongInput

OK = 0


def declare(parser: ArgumentParser) -> None:
    parser.add_argument("result_file", nargs="?", type=Path, help="also write them here, as JSON")
    parser.add_argument("--device", default="cpu", help="cpu, cuda or cuda:N (default: cpu)")
    parser.add_argument(
        "--threads", type=int, default=1, help="CPU threads, as the jobs have them (default: 1)"
    )


def run(options: Namespace) -> int:
    import torch

    from benchmarks_suite.harness import ceilings

    device = torch.device("cuda:0" if options.device == "cuda" else options.device)
    if device.type == "cuda" and not torch.cuda.is_available():
        raise WrongInput(f"torch {torch.__version__} sees no GPU: check the driver with nvidia-smi")
    torch.set_num_threads(options.threads)
    measured = ceilings.measure(device)
    ceilings.save(measured, device)
    for name, interval in measured.items():
        unit = "GB/s" if name == "copy" else "TFLOP/s"
        value, low, high = map(table.number, (interval.value, interval.low, interval.high))
        progress.answer(f"{name:<18} {value:>8} {unit:<8} {low} … {high}")
    if options.result_file:
        document = {
            "schema": "ceilings.v1",
            "device": str(device),
            "torch": torch.__version__,
            "threads": options.threads,
            "ceilings": {name: asdict(interval) for name, interval in measured.items()},
        }
        options.result_file.write_text(json.dumps(document, indent=1) + "\n")
    return OK
