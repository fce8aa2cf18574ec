"""Static files: found in installed Python packages too, and compressed once."""

import importlib.util
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.staticfiles.finders import BaseFinder
from django.core.exceptions import ImproperlyConfigured
from django.core.files.storage import FileSystemStorage
from whitenoise.storage import CompressedManifestStaticFilesStorage


class HashedStaticFiles(CompressedManifestStaticFilesStorage):
    """whitenoise's storage, which compresses each content once.

    A hashed name stands for its content, so that what has a compressed neighbour needs none again;
    plain names are not compressed, for no page asks for them. Collecting again takes a second
    instead of half a minute.
    """

    def compress_files(self, paths: Iterable[str]) -> Iterator[tuple[str, str]]:
        hashed = set(self.hashed_files.values())
        yield from super().compress_files(
            path for path in paths if path in hashed and not self.exists(f"{path}.gz")
        )


class PackageFileFinder(BaseFinder):
    """Finds the files of settings.PACKAGE_FILES, {static path: (package, file inside it)}.

    So others' JavaScript is served without being copied into the repository.
    """

    def find(self, path: str, find_all: bool = False, **_: Any) -> Any:
        if path not in settings.PACKAGE_FILES:
            return [] if find_all else None
        found = str(package_file(*settings.PACKAGE_FILES[path]))
        return [found] if find_all else found

    def list(
        self, ignore_patterns: Iterable[str] | None
    ) -> Iterable[tuple[str, FileSystemStorage]]:
        for path, (package, file) in settings.PACKAGE_FILES.items():
            source = package_file(package, file)
            if source.name != Path(path).name:
                raise ImproperlyConfigured(
                    f"PACKAGE_FILES: {path} must keep the file name {source.name}"
                )
            storage = FileSystemStorage(location=source.parent)
            storage.prefix = str(Path(path).parent)  # type: ignore[attr-defined]  # as Django's own finders do
            yield source.name, storage


def package_file(package: str, file: str) -> Path:
    """Where `file` of an installed package lies, without importing it.

    Raises ImproperlyConfigured when it is not there.
    """
    spec = importlib.util.find_spec(package)
    path = Path(spec.origin).parent / file if spec and spec.origin else None
    if path is None or not path.is_file():
        raise ImproperlyConfigured(
            f"{package} with its file {file} is not installed: run `make install`"
        )
    return path
