"""Reading a job file: what is wrong is reported by field, before anything is measured."""

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks_suite.harness import absence, job

MINIMAL: dict[str, Any] = {
    "schema": "job.v1",
    "job_id": "by-hand",
    "attempt": 1,
    "benchmark": "mlp.smoke.inference.float32.static.b64",
    "config": "inductor",
}


def test_a_minimal_job_gets_the_defaults() -> None:
    parsed = job.parse(MINIMAL)
    assert parsed.device == "cpu"
    assert parsed.measure.starts == ("cold",)
    assert parsed.measure.budget_s == 20
    assert parsed.document["measure"]["single_steps"] == 200


@pytest.mark.parametrize(
    ("benchmark", "device", "has_ratio"),
    [
        ("mlp.smoke.inference.float32.static.b64", "cuda:0", False),
        ("mlp.standard.inference.bfloat16.static.b1024", "cpu", False),
        ("mlp.standard.inference.bfloat16.static.b1024", "cuda:0", True),
    ],
)
def test_memory_is_compared_where_the_model_is_most_of_it(
    benchmark: str, device: str, has_ratio: bool
) -> None:
    parsed = job.parse(MINIMAL | {"benchmark": benchmark, "device": device})
    assert absence.has_compression_ratio(parsed) == has_ratio


def test_cuda_without_a_number_is_the_first_device() -> None:
    assert job.parse(MINIMAL | {"device": "cuda"}).device == "cuda:0"


def test_a_whole_number_written_as_a_fraction_is_an_integer() -> None:
    assert isinstance(job.parse(MINIMAL | {"measure": {"threads": 2.0}}).measure.threads, int)


def test_error_about_an_unknown_benchmark_names_the_nearest_one() -> None:
    hint = r"benchmark: .* did you mean mlp\.smoke\.inference\.float32\.static\.b64"
    with pytest.raises(job.JobError, match=hint):
        job.parse(MINIMAL | {"benchmark": "mlp.smoke.inference.float32.static.b65"})


def test_error_about_an_unknown_config_names_the_nearest_one() -> None:
    with pytest.raises(job.JobError, match=r"config: .* did you mean inductor"):
        job.parse(MINIMAL | {"config": "inducktor"})


def test_any_registered_backend_can_be_named() -> None:
    assert job.parse(MINIMAL | {"config": "backend_tvm"}).config.backend == "tvm"


def test_a_variable_that_the_variant_may_not_set_is_refused() -> None:
    with pytest.raises(job.JobError, match=r"variant\.env\.LD_PRELOAD"):
        job.parse(MINIMAL | {"variant": {"env": {"LD_PRELOAD": "x.so"}}})


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{", "is not JSON"),
        ("[]", "document: must be object"),
        ('{"schema": NaN}', "NaN is not JSON"),
    ],
)
def test_a_file_that_is_not_a_job_is_refused(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "job.json"
    path.write_text(text)
    with pytest.raises(job.JobError, match=says):
        job.read(path)


def test_a_missing_file_is_reported(tmp_path: Path) -> None:
    with pytest.raises(job.JobError, match=r"cannot read the job file .*No such file"):
        job.read(tmp_path / "none.json")


def test_a_file_that_is_not_utf8_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "job.json"
    path.write_bytes(json.dumps(MINIMAL).encode("utf-16"))
    with pytest.raises(job.JobError, match="is not UTF-8"):
        job.read(path)
