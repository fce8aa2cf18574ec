"""A project's page of a package index is read, in JSON and in HTML."""

import json
from typing import Any

import pytest

from dashboard.catalog.core.package_page import PackagePageError, Target, parse_releases

LINUX = "cp311-cp311-manylinux_2_28_x86_64"
PAGE = "http://index/simple/torch/"
DIGEST = "0123456789abcdef" * 4


def page(*files: dict[str, Any]) -> bytes:
    return json.dumps(
        {
            "meta": {"api-version": "1.1"},
            "name": "torch",
            "files": files,
        }
    ).encode()


def test_json_and_html_pages_mean_the_same() -> None:
    name = f"torch-2.10.0-{LINUX}.whl"
    file = {
        "filename": name,
        "url": f"../../f/{name}",
        "requires-python": ">=3.10",
        "yanked": False,
        "hashes": {"sha256": DIGEST},
    }
    as_json = parse_releases(
        "application/vnd.pypi.simple.v1+json",
        page({**file, "upload-time": "2026-01-02T03:04:05Z"}),
        PAGE,
    )
    link = (
        f'<a href="../../f/{name}#sha256={DIGEST}" data-requires-python="&gt;=3.10" '
        f'data-upload-time="2026-01-02">{name}</a>'
    )
    assert as_json == parse_releases("text/html", link.encode(), PAGE)
    (release,) = as_json.values()
    assert release.hashes_for([Target("3.11"), Target("3.12")]) == {name: DIGEST}


@pytest.mark.parametrize("hashes", [None, {}, {"md5": DIGEST}, {"sha256": "1"}, {"sha256": 1}])
def test_file_without_a_sha256_has_no_hash(hashes: Any) -> None:
    file = {"filename": f"torch-2.9.0-{LINUX}.whl", "url": "x", "hashes": hashes}
    (release,) = parse_releases("application/json", page(file), PAGE).values()
    assert release.hashes_for([Target("3.11")]) == {}


def test_withdrawn_files_archives_and_odd_names_do_not_count() -> None:
    names = ("torch-2.0.0.tar.gz", "torch-new.whl", f"torch-2.9.0-{LINUX}.whl")
    files = [
        {"filename": name, "url": name, "yanked": "broken" if "2.9" in name else False}
        for name in names
    ]
    assert parse_releases("application/json", page(*files), PAGE) == {}


def test_a_page_of_something_else_is_refused() -> None:
    with pytest.raises(PackagePageError, match=f"{PAGE} is not a page of a package index"):
        parse_releases("application/json", b"[]", PAGE)


def test_a_free_threaded_wheel_does_not_fit_a_plain_python() -> None:
    link = '<a href="x">torch-2.10.0-cp313-cp313t-manylinux_2_28_x86_64.whl</a>'
    (release,) = parse_releases("text/html", link.encode(), PAGE).values()
    assert release.wheel_for(Target("3.13")) is None
