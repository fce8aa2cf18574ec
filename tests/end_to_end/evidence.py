"""The evidence of a confirmed alert, collected for real: python -m tests.end_to_end.evidence.

1. The system as `make up` starts it, with its worker, in a folder of its own.
2. A confirmed alert, made by hand: a case is slower in a variant that differs in one setting of
   Inductor. Nothing else is made: the system has both builds diagnosed by itself.
3. The archive, downloaded as a person does, and what it has. The exit code is 1 where it lacks
   something that both builds must have left.

It takes some minutes. `--keep FOLDER` leaves the archive there.
"""

import argparse
import io
import sys
import tempfile
import time
import urllib.request
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

from tests.builders.local_site import LocalSite, local_site
from tests.end_to_end.drill import connect

if TYPE_CHECKING:
    from dashboard.models import AlertGroup, Machine, Series, Track

CASE = ("mlp.smoke.inference.float32.static.b64", "inductor")
CHANGED = {"cpp.simdlen": 1}  # Inductor may not vectorize: other code from the same graphs
PATIENCE_S = 1200
EXPECTED = (
    "fx-graphs.diff",
    "generated-code.diff",
    "compile-calls.csv",
    "kernels-compiled.csv",
    "{side}/environment.json",
    "{side}/generated-code.tar.xz",
    "{side}/compiler.log",
    "{side}/fx-graphs/aot_inference_graph/0_0_0.txt",
    "{side}/trace/",
)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--keep", type=Path, help="a folder for the archive")
    keep = parser.parse_args().keep
    with tempfile.TemporaryDirectory(prefix="compilewatch-evidence-") as name:
        folder = Path(name)
        folder.chmod(0o755)  # under root, Postgres runs as another account, which has to get in
        with local_site(folder, PUBLIC_READ="true") as site:
            connect(folder)
            body = collected(site)
    if keep:
        (keep / "evidence.zip").write_bytes(body)
    return report(zipfile.ZipFile(io.BytesIO(body)))


def collected(site: LocalSite) -> bytes:
    """The archive, once the system has collected the evidence of an alert by itself."""
    group = confirmed_alert()
    print(f"{site.url}{group.get_absolute_url()}", flush=True)
    started = time.monotonic()
    wait_for_evidence(group)
    print(f"collected after {time.monotonic() - started:.0f} s", flush=True)
    with urllib.request.urlopen(f"{site.url}/alerts/{group.pk}/evidence.zip") as answer:
        return bytes(answer.read())


def confirmed_alert() -> "AlertGroup":
    """A confirmed alert on the variant, as a confirmation that has just ended leaves it."""
    from django.utils import timezone

    from dashboard.catalog.services.builds import add_variant
    from dashboard.models import Alert, AlertGroup, Confirmation, Track

    track = Track.objects.select_related("build").get(key="local")
    assert track.build is not None
    machine = idle_machine()
    variant = add_variant(base=track.build, name="scalar", inductor=CHANGED)
    between = {"base": track.build, "new": variant}
    now = timezone.now()
    group = AlertGroup.objects.create(
        title="mlp inference in inductor: slower",
        machine=machine,
        track=track,
        evidence_state="confirmed",
        direction="regression",
        **between,
    )
    Alert.objects.create(
        group=group,
        series=series_of(machine, track),
        kind="step",
        direction="regression",
        effect=6.2,
        low=5.1,
        high=7.4,
        unit="percent",
        planned_at=now,
        seen_at=now,
        confirmation="confirmed",
        **between,
    )
    done = Confirmation.State.DONE
    Confirmation.objects.create(group=group, state=done, finished_at=now)
    return group


def idle_machine() -> "Machine":
    """Where `make up` measures, without its first run, which is not needed here."""
    from dashboard.models import Purpose, Run
    from dashboard.runs.services.runs import cancel_run

    first = Run.objects.select_related("machine").order_by("pk").first()
    assert first is not None
    for run in Run.objects.filter(purpose=Purpose.MANUAL):
        cancel_run(run=run)
    return first.machine


def series_of(machine: "Machine", track: "Track") -> "Series":
    from dashboard.models import Benchmark, Config, Series

    series, _ = Series.objects.get_or_create(
        benchmark=Benchmark.objects.get(name=CASE[0]),
        config=Config.objects.get(name=CASE[1]),
        machine=machine,
        track=track,
        metric="latency_ms",
    )
    return series


def wait_for_evidence(group: "AlertGroup") -> None:
    from dashboard.alerts.selectors import collected_evidence

    deadline = time.monotonic() + PATIENCE_S
    state = "none"
    while state in ("none", "collecting") and time.monotonic() < deadline:
        time.sleep(2)
        state = collected_evidence.of_group(group, collected_evidence.alerts_of(group)).state


def report(archive: zipfile.ZipFile) -> int:
    """Print what the archive has; 1 where something is missing."""
    for entry in archive.infolist():
        print(f"{entry.file_size:>12,} {entry.compress_size:>10,}  {entry.filename}")
    names = archive.namelist()
    expected = [name.format(side=side) for name in EXPECTED for side in ("base", "new")]
    missing = []
    for name in dict.fromkeys(expected):
        if not any(present.startswith(name) for present in names):
            missing.append(name)
    if not missing and b"# wrapper: changed" not in archive.read("generated-code.diff"):
        missing.append("the difference of the generated code")
    if missing:
        print(f"missing: {', '.join(missing)}")
        print(archive.read("MANIFEST.json").decode())
        return 1
    print("Both builds left all of it.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
