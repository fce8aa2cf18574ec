"""Static files: found in installed Python packages too, and compressed once."""

import importlib.util
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from django.contrib.staticfiles.finders import BaseFinder
from django.core.exceptions import ImproperlyConfigured
from django.core.files.storage import FileSystemStorage
from whitenoise.storage import CompressedManifestStaticFilesStorage

# The JavaScript and CSS of others. Static path: (installed package, file inside it)
PACKAGE_FILES = {
    "swagger/swagger-ui-bundle.js": ("ninja", "static/ninja/swagger-ui-bundle.js"),
    "swagger/swagger-ui.css": ("ninja", "static/ninja/swagger-ui.css"),
    "swagger/swagger-ui.css.map": ("ninja", "static/ninja/swagger-ui.css.map"),  # named by the CSS
}


class HashedStaticFiles(CompressedManifestStaticFilesStorage):
    """whitenoise's storage, which compresses each content once.

    A hashed name stands for its content: a file that has a compressed copy needs no second one.
    Plain names are not compressed, since no page asks for them. By gzip alone, because Brotli is
    not installed: it would take ten seconds of every first start, and browsers want it over HTTPS
    only.
    """

    def compress_files(self, paths: Iterable[str]) -> Iterator[tuple[str, str]]:
        hashed = set(self.hashed_files.values())
        new = [path for path in paths if path in hashed and not self.exists(f"{path}.gz")]
        yield from super().compress_files(new)


class PackageFileFinder(BaseFinder):
    """Finds PACKAGE_FILES where they are installed, so that no copy lies in the repository."""

    def find(self, path: str, find_all: bool = False, **_: Any) -> Any:
        if path not in PACKAGE_FILES:
            return [] if find_all else None
        file = str(package_file(*PACKAGE_FILES[path]))
        return [file] if find_all else file

    def list(
        self, ignore_patterns: Iterable[str] | None
    ) -> Iterable[tuple[str, FileSystemStorage]]:
        for path, (package, file) in PACKAGE_FILES.items():
            source = package_file(package, file)
            if source.name != Path(path).name:
                raise ImproperlyConfigured(
                    f"PACKAGE_FILES: {path} must keep the file name {source.name}"
                )
            storage = FileSystemStorage(location=source.parent)
            # As Django's own finders do
            storage.prefix = str(Path(path).parent)  # type: ignore[attr-defined]
            yield source.name, storage


def package_file(package: str, file: str) -> Path:
    """The path of an installed package's file; ImproperlyConfigured if absent. No import."""
    spec = importlib.util.find_spec(package)
    if spec is not None and spec.origin:
        path = Path(spec.origin).parent / file
        if path.is_file():
            return path
    raise ImproperlyConfigured(
        f"{package} with its file {file} is not installed: run `make up`, which installs it"
    )
