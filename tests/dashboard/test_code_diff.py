"""Generated code is compared as people read it, and untrusted archives do no harm."""

import io
import tarfile

import pytest

from dashboard.code_diff import MOST_BYTES, Unreadable, difference


def packed(**files: str) -> bytes:
    body = io.BytesIO()
    with tarfile.open(fileobj=body, mode="w:xz") as archive:
        for name, text in files.items():
            entry = tarfile.TarInfo(name.replace("__", "/"))
            entry.size = len(text)
            archive.addfile(entry, io.BytesIO(text.encode()))
    return body.getvalue()


def test_only_what_differs_is_shown() -> None:
    before = packed(kernels__0="for i:\n  a = exp(b)\n", wrapper__0="call()")
    after = packed(kernels__0="for i:\n  a = exp(b)\n  c = a + 1\n", wrapper__0="call()")
    assert difference(before, after).splitlines() == [
        "--- before/kernels/0",
        "+++ after/kernels/0",
        "@@ -1,2 +1,3 @@",
        " for i:",
        "   a = exp(b)",
        "+  c = a + 1",
    ]


def test_comments_paths_and_hashes_are_no_difference() -> None:
    one = f"# from /tmp/a/b.py\nload('/tmp/x/y.so', '{'a' * 64}')"
    other = f"# from /tmp/c/d.py\nload('/tmp/z/w.so', '{'b' * 64}')"
    assert difference(packed(kernels__0=one), packed(kernels__0=other)) == ""


def test_files_are_paired_by_what_they_say_not_by_their_number() -> None:
    before = packed(kernels__0="a\nb\nc\nd", kernels__1="w\nx\ny\nz")
    after = packed(kernels__0="w\nx\ny\nZ", kernels__1="a\nb\nc\nd")
    assert "-z\n+Z" in difference(before, after)
    assert "-a" not in difference(before, after)


def test_what_is_no_archive_is_unreadable() -> None:
    with pytest.raises(Unreadable, match="cannot be read"):
        difference(b"nothing", b"nothing")


def test_what_unpacks_to_too_much_is_not_read() -> None:
    with pytest.raises(Unreadable, match="download the artifacts"):
        difference(packed(kernels__0="a" * (MOST_BYTES + 1)), packed())
