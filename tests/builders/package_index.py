"""A package index of our own: real wheels of a few kilobytes over real HTTP, for real installers.

Its `torch` is a package of that name which has a version, as a worker asks for it, and nothing
else.
"""

import base64
import hashlib
import threading
import time
import zipfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote

from packaging.version import Version

TORCH = """
__version__ = "{version}"


class version:
    git_version, cuda = "0123abc", None
"""
BROKEN = "raise ImportError('libtorch.so: cannot open shared object file')\n"


class PackageIndex:
    """Serves the wheels in `folder`.

    delay_s: before each wheel is sent; calls: the paths that were requested; sha256: by wheel, a
    hash that the page gives in place of the wheel's own; redirect: where every call is sent.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self.delay_s = 0.0
        self.calls: list[str] = []
        self.redirect = ""
        self.sha256: dict[str, str] = {}
        handler = type("Handler", (_Handler,), {"index": self})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        serve = partial(self._server.serve_forever, poll_interval=0.02)
        threading.Thread(target=serve, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}/simple"

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def add_torch(
        self, version: str, *, needs: Sequence[str] = (), tag: str = "py3-none-any", code: str = ""
    ) -> Path:
        text = code or TORCH.format(version=version)
        return write_wheel(self.folder, "torch", version, {"torch/__init__.py": text}, needs, tag)

    def add(self, name: str, version: str, needs: Sequence[str] = ()) -> Path:
        module = {f"{name}/__init__.py": f"__version__ = {version!r}\n"}
        return write_wheel(self.folder, name, version, module, needs)

    def page(self, project: str) -> str:
        """The simple page of a project (PEP 503), with the additions of PEP 658 and PEP 700."""
        wheels = sorted(self.folder.glob(f"{project}-*.whl"), key=_version_of)
        links = []
        for number, path in enumerate(wheels, start=1):
            digest = self.sha256.get(path.name) or hashlib.sha256(path.read_bytes()).hexdigest()
            attributes = (
                f'href="../../files/{path.name}#sha256={digest}" data-requires-python="&gt;=3.8" '
                'data-core-metadata="true" '
                f'data-upload-time="2026-01-{number:02}T10:00:00Z"'
            )
            links.append(f"<a {attributes}>{path.name}</a>")
        return "<!DOCTYPE html><html><body>" + "\n".join(links) + "</body></html>"


class _Handler(BaseHTTPRequestHandler):
    index: PackageIndex
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        path = unquote(self.path)
        self.index.calls.append(path)
        if self.index.redirect:
            self.send_response(302)
            self.send_header("Location", self.index.redirect)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        parts = path.strip("/").split("/")
        if parts[0] == "simple" and any(self.index.folder.glob(f"{parts[1]}-*.whl")):
            self._send(200, "text/html", self.index.page(parts[1]).encode())
        elif parts[0] == "files":
            self._send_file(parts[1])
        else:
            self._send(404, "text/plain", b"no such project")

    def _send_file(self, name: str) -> None:
        wheel = self.index.folder / name.removesuffix(".metadata")
        if name.endswith(".metadata"):
            self._send(200, "text/plain", metadata_of(wheel))
            return
        time.sleep(self.index.delay_s)
        self._send(200, "application/octet-stream", wheel.read_bytes())

    def _send(self, status: int, kind: str, content: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def handle(self) -> None:
        with suppress(ConnectionError):  # an installer that was killed
            super().handle()

    def log_message(self, format: str, *arguments: object) -> None:
        """The record in `calls` is enough."""


def write_wheel(
    folder: Path,
    name: str,
    version: str,
    files: Mapping[str, str],
    needs: Sequence[str] = (),
    tag: str = "py3-none-any",
) -> Path:
    """A wheel as the format's specification has it."""
    info = f"{name}-{version}.dist-info"
    metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
    metadata += "".join(f"Requires-Dist: {requirement}\n" for requirement in needs)
    contents = {
        **files,
        f"{info}/METADATA": metadata,
        f"{info}/WHEEL": (
            f"Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: {tag}\n"
        ),
    }
    record = ""
    for path, text in contents.items():
        record += f"{path},{_digest(text)},{len(text.encode())}\n"
    contents[f"{info}/RECORD"] = f"{record}{info}/RECORD,,\n"
    wheel = folder / f"{name}-{version}-{tag}.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for path, text in contents.items():
            archive.writestr(path, text)
    return wheel


def metadata_of(wheel: Path) -> bytes:
    with zipfile.ZipFile(wheel) as archive:
        name = next(name for name in archive.namelist() if name.endswith("/METADATA"))
        return archive.read(name)


def _version_of(wheel: Path) -> Version:
    return Version(wheel.name.split("-")[1])


def _digest(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return "sha256=" + base64.urlsafe_b64encode(digest).decode().rstrip("=")
