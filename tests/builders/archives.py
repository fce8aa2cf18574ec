"""The archive of generated code that a job leaves."""

import io
import tarfile


def packed(files: dict[str, str]) -> bytes:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w:xz") as archive:
        for name, text in files.items():
            body = text.encode()
            entry = tarfile.TarInfo(name)
            entry.size = len(body)
            archive.addfile(entry, io.BytesIO(body))
    return file.getvalue()
