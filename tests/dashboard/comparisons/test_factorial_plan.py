"""Which arms a factorial gets, and why one is left out."""

import pytest

from dashboard.catalog.core.plan import PlanError
from dashboard.catalog.services.builds import add_variant
from dashboard.comparisons.selectors.factorial_plan import FactorialPlan, plan_factorial
from dashboard.models import InstalledEnvironment, Machine, TorchBuild
from tests.builders import site
from tests.builders.comparisons import BASE, LEVELS, NEW, two_builds

pytestmark = pytest.mark.django_db


def planned(**levels: list[str]) -> FactorialPlan:
    return plan_factorial(
        machine="cpu-2c", benchmark=site.MLP, config="inductor", levels=levels, repeats=3
    )


@pytest.fixture
def builds() -> None:
    two_builds()


@pytest.mark.usefixtures("builds")
def test_every_combination_is_an_arm_with_its_build_and_libraries() -> None:
    plan = planned(**LEVELS)
    arms = [(arm.build.label, arm.libraries["transformers"]) for arm in plan.arms]
    assert arms == [(BASE, "5.19.0"), (BASE, "5.23.0"), (NEW, "5.19.0"), (NEW, "5.23.0")]
    assert plan.arms[0].libraries["numpy"] == plan.arms[3].libraries["numpy"] == "2.4.6"
    assert plan.cost.jobs == 12


@pytest.mark.usefixtures("builds")
def test_library_that_refuses_a_torch_is_left_out_with_the_reason() -> None:
    site.build("2.5.1+cpu")
    plan = planned(torch=["2.5.1", "2.13.0"], transformers=["5.19.0", "5.23.0"])
    [out] = plan.excluded
    assert out.why == "transformers 5.23.0 needs torch >=2.6"
    assert [contrast.is_interaction for contrast in plan.estimable.aliased] == [True]


@pytest.mark.usefixtures("builds")
def test_torch_that_exists_with_one_cuda_alone_is_left_out_with_the_reason() -> None:
    gpu = site.machine("h100")
    Machine.objects.filter(pk=gpu.pk).update(device_kind="cuda")
    for label in ("2.9.0+cu128", "2.10.0+cu128", "2.10.0+cu130"):
        site.build(label)
    plan = plan_factorial(
        machine="h100",
        benchmark=site.MLP,
        config="inductor",
        levels={"torch": ["2.9.0", "2.10.0"], "cuda": ["cu128", "cu130"]},
        repeats=3,
    )
    assert [arm.build.label for arm in plan.arms] == ["2.9.0+cu128", "2.10.0+cu128", "2.10.0+cu130"]
    assert "no torch 2.9.0 for cu130 is known here" in plan.excluded[0].why


@pytest.mark.usefixtures("builds")
def test_candidate_is_not_taken_for_the_release_of_its_version() -> None:
    """Its label tells them apart; it was added first, and the machine can install both."""
    candidate = {"version": "2.14.0+cpu", "channel": TorchBuild.Channel.TEST}
    TorchBuild.objects.create(label="2.14.0@1a2b3c4d+cpu", **candidate)
    site.build("2.14.0+cpu")
    levels = {"cuda": ["cpu"], "numpy": ["1.26.4", "2.4.6"]}
    torches = ["2.14.0", "2.14.0@1a2b3c4d"]
    arms = planned(torch=torches, **levels).arms
    assert {arm.build.label for arm in arms[:2]} == {"2.14.0+cpu"}
    assert {arm.build.label for arm in arms[2:]} == {"2.14.0@1a2b3c4d+cpu"}


@pytest.mark.usefixtures("builds")
def test_cuda_of_a_build_without_a_flavour_is_what_it_reported() -> None:
    gpu = site.machine("h100")
    Machine.objects.filter(pk=gpu.pk).update(device_kind="cuda")
    site.build("2.10.0+cu130")
    TorchBuild.objects.filter(pk=site.build("2.10.0").pk).update(cuda="12.8")
    plan = plan_factorial(
        machine="h100",
        benchmark=site.MLP,
        config="inductor",
        levels={"torch": ["2.10.0"], "cuda": ["cu128", "cu130"], "numpy": ["1.26.4", "2.4.6"]},
        repeats=3,
    )
    assert {arm.build.label for arm in plan.arms} == {"2.10.0", "2.10.0+cu130"}


@pytest.mark.usefixtures("builds")
def test_variants_are_a_factor_and_one_that_is_missing_says_how_to_add_it() -> None:
    variant = add_variant(base=site.build(NEW), name="no-fusion", inductor={"max_fusion_size": 1})
    name = variant.label.partition("~")[2]
    plan = planned(torch=["2.11.0", "2.13.0"], variant=["none", name])
    assert [arm.build.label for arm in plan.arms] == [BASE, NEW, variant.label]
    assert "add it with manage.py add_variant" in plan.excluded[0].why


def test_interpreters_of_the_worker_are_used_as_they_are() -> None:
    worker = site.living_worker()
    build = site.build(NEW)
    TorchBuild.objects.filter(pk=build.pk).update(adopted=True)
    for key, version in (("a", "5.19.0"), ("b", "5.23.0")):
        libraries = {"transformers": version, "numpy": "2.4.6"}
        InstalledEnvironment.objects.create(
            worker=worker, key=key, build=build, adopted=True, state="ready", libraries=libraries
        )
    add_variant(base=site.build(NEW), name="one", env={"OMP_NUM_THREADS": "1"})
    name = TorchBuild.objects.get(base=build).label.partition("~")[2]
    plan = planned(
        torch=["2.13.0"], transformers=["5.14.1", "5.19.0", "5.23.0"], variant=["none", name]
    )
    assert len(plan.arms) == 4
    assert plan.to_install == 0
    assert plan.arms[0].libraries == {"transformers": "5.19.0", "numpy": "2.4.6"}
    assert "none has transformers 5.14.1" in plan.excluded[0].why


@pytest.mark.usefixtures("builds")
def test_combinations_that_show_nothing_are_refused_with_every_reason() -> None:
    for label in ("2.5.1+cpu", "2.4.1+cpu"):
        site.build(label)
    with pytest.raises(PlanError, match=r"show no effect.*transformers 5.23.0 needs torch >=2.6"):
        planned(torch=["2.5.1", "2.4.1"], transformers=["5.23.0", "5.19.0"])
