"""The kernels of a step: on the page of a job, and of two jobs side by side."""

from typing import Any

import pytest
from django.core.files.base import ContentFile
from django.test import Client

from dashboard.models import Artifact, Job
from dashboard.results.core.code_diff import ARCHIVE
from dashboard.results.core.result_format import parse_result
from dashboard.results.selectors.generated_code import place_of_kernel
from tests.builders import alerting, site
from tests.builders.archives import packed
from tests.builders.kernels import AFTER, BEFORE, row, section
from tests.builders.reading import page_text

pytestmark = pytest.mark.django_db

KERNEL = "@triton.jit\ndef triton_poi_fused_cat_7(in_ptr0):\n    pass\n"


def measured(hour: int, **profile: Any) -> Job:
    return alerting.measure({"latency_ms": 50.0 + hour}, hour, profile=profile)


def keep_code(job: Job, files: dict[str, str] | None = None) -> None:
    archive = ContentFile(packed(files or {"kernels/0000.py": KERNEL}), "x")
    Artifact.objects.create(
        job=job,
        name=ARCHIVE,
        file=archive,
        size_bytes=1,
        digest="0",
    )


def test_document_with_profiles_fits_the_contract() -> None:
    profile = {"eager": BEFORE, "compiled": AFTER}
    result = parse_result(site.result(site.queued_job(), profile=profile))
    assert result.document["profile"] == profile


def test_job_page_lists_its_kernels(reader: Client) -> None:
    job = measured(0, compiled=AFTER)
    page = page_text(reader.get(f"/jobs/{job.pk}/"))
    assert "Compiled: 85 kernels a step, 61.2 ms" in page
    assert 'data-label="registers">96</td>' in page
    assert 'data-label="spills">12</td>' in page
    assert '<td class="number">35.3%</td>' in page  # 21.6 of 61.2 ms


def test_cpu_has_operators_without_registers(reader: Client) -> None:
    job = measured(0, eager=section(row("aten::mm", 2.0, "matmul"), device="cpu"))
    page = page_text(reader.get(f"/jobs/{job.pk}/"))
    assert "Eager: 1 operator a step" in page
    assert "Registers" not in page


def test_kernel_leads_to_its_code_where_that_is_kept(reader: Client) -> None:
    job = measured(0, compiled=AFTER)
    assert f"/jobs/{job.pk}/code/?kernel=" not in reader.get(f"/jobs/{job.pk}/").text
    keep_code(job)
    address = f"/jobs/{job.pk}/code/?kernel=triton_poi_fused_cat_7"
    assert address in reader.get(f"/jobs/{job.pk}/").text
    page = page_text(reader.get(address))
    assert "It has <code>triton_poi_fused_cat_7</code>" in page
    assert "@triton.jit" in page


def test_kernel_that_no_file_names_says_so(reader: Client) -> None:
    job = measured(0, compiled=AFTER)
    keep_code(job)
    page = page_text(reader.get(f"/jobs/{job.pk}/code/?kernel=other"))
    assert "No file names <code>other</code>" in page


def test_file_of_its_own_comes_before_the_wrapper() -> None:
    wrapper = "import triton\ntriton_a_1 = async_compile.triton('triton_poi_fused_cat_7')"
    files = {"wrapper/0000.py": wrapper, "kernels/0001.py": KERNEL}
    assert place_of_kernel(files, "triton_poi_fused_cat_7") == ("kernels/0001.py", 0)
    assert place_of_kernel(files, "triton_a_1") == ("wrapper/0000.py", 14)
    assert place_of_kernel(files, "triton_a") == ("", 0)


def test_wrapper_is_shown_from_the_kernel_on(reader: Client) -> None:
    job = measured(0, compiled=AFTER)
    wrapper = "import triton\ntriton_poi_fused_cat_7 = async_compile.triton()"
    keep_code(job, {"wrapper/0000.py": wrapper})
    page = page_text(reader.get(f"/jobs/{job.pk}/code/?kernel=triton_poi_fused_cat_7"))
    assert "From <code>triton_poi_fused_cat_7</code> on, line 2" in page
    assert "import triton" not in page


def test_two_jobs_show_which_kernels_differ(reader: Client) -> None:
    first, second = measured(0, compiled=BEFORE), measured(1, compiled=AFTER)
    keep_code(second)
    page = page_text(reader.get(f"/change/?job={first.pk}&job={second.pk}"))
    assert "compiled step&#x27;s kernels take 23.3 ms more" in page
    assert "One profile of each side" in page
    assert "50% of what is added" in page
    assert f"/jobs/{second.pk}/code/?kernel=triton_poi_fused_cat_7" in page
    assert f"/jobs/{first.pk}/code/?kernel=" not in page


def test_clocks_of_two_profiles_say_when_they_were_read(reader: Client) -> None:
    first, second = measured(0, compiled=BEFORE), measured(1, compiled=AFTER)
    page = page_text(reader.get(f"/change/?job={first.pk}&job={second.pk}"))
    assert "The clock right after the last profiled step was 1,980, then 1,980 MHz;" in page


def test_two_jobs_without_a_common_arm_show_no_kernels(reader: Client) -> None:
    first, second = measured(0, eager=BEFORE), measured(1, compiled=AFTER)
    page = page_text(reader.get(f"/change/?job={first.pk}&job={second.pk}"))
    assert "Every kernel" not in page


def test_api_tells_which_kernels_differ(reader: Client) -> None:
    base, new = measured(0, compiled=BEFORE), measured(1, compiled=AFTER)
    (diff,) = reader.get(f"/api/v1/jobs/{new.pk}/kernels?base={base.pk}").json()
    assert diff["sentence"].startswith("A compiled step's kernels take 23.3 ms more")
    first = diff["changes"][0]
    assert first["match"] == "replacement"
    assert first["new"] == ["fmha_cutlassB_f16_aligned_128x64_k64_dropout_sm80"]
    assert first["ms"] == pytest.approx(12.4)


def test_api_has_no_difference_without_profiles(reader: Client) -> None:
    base, new = measured(0), measured(1, compiled=AFTER)
    assert reader.get(f"/api/v1/jobs/{new.pk}/kernels?base={base.pk}").json() == []
    assert reader.get(f"/api/v1/jobs/{new.pk}/kernels?base={site.queued_job().pk}").json() == []
