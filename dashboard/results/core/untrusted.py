"""Reads what somebody else packed: what jobs left, what workers send, what is imported. Pure.

Whoever packed it may want the site to fall over. So bytes, depth and headers are limited before
anything is made of them, and there is no other reader of such files.
"""

import lzma
import re
import tarfile
import zlib
from collections.abc import Iterator
from io import BufferedIOBase, BytesIO
from typing import Any

import orjson

from dashboard.language.contracts import Refused, TooLarge

GZIP_MAGIC, XZ_MAGIC = b"\x1f\x8b", b"\xfd7zXZ\x00"
GZIP_WINDOW = 31  # zlib's way to say "with a gzip header"
XZ_MEMORY_BYTES = 128 * 2**20  # of the decoder; what `xz -9` packs needs 65 MiB
LARGEST_INTEGER = 2**53  # floats have every integer up to here
# Headers that say more of the next file, as its name where that is long
HEADERS = (tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK, tarfile.XHDTYPE, tarfile.XGLTYPE)
LONGEST_HEADER_BYTES = 8 * 2**10
MOST_FILES = 10_000  # of an archive
_PATH_RECORD = re.compile(rb"\d+ path=([^\n]*)\n")
_PIECE_BYTES = 2**20


def unpack(body: bytes, limit: int, what: str = "the body") -> bytes:
    """The bytes inside a stream of gzip or xz (or `body` itself where it is neither).

    Stops as soon as the limit is passed, however large the stream would become. what: in errors.
    Raises TooLarge, Refused.
    """
    unpacked = body
    if body.startswith(GZIP_MAGIC):
        unpacked = _decompress(zlib.decompressobj(wbits=GZIP_WINDOW), body, limit, what)
    elif body.startswith(XZ_MAGIC):
        decoder = lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=XZ_MEMORY_BYTES)
        unpacked = _decompress(decoder, body, limit, what)
    if len(unpacked) > limit:
        raise TooLarge(f"{what} unpacks to more than {limit // 2**20} MiB, the limit")
    return unpacked


def _decompress(decoder: Any, body: bytes, limit: int, what: str) -> bytes:
    try:
        unpacked: bytes = decoder.decompress(body, limit + 1)
    except (zlib.error, lzma.LZMAError) as error:
        raise Refused(f"{what} cannot be unpacked: {error}") from None
    if len(unpacked) <= limit and not decoder.eof:
        raise Refused(f"{what} ends too early: it was cut on its way")
    return unpacked


def parse_json(body: bytes) -> Any:
    """The JSON value in `body`, nested less than 1,025 deep.

    NULs become U+FFFD, as Postgres requires. Raises Refused.
    """
    try:
        return orjson.loads(body.replace(b"\\u0000", b"\\ufffd"))
    except orjson.JSONDecodeError as error:
        raise Refused(f"not JSON (NaN and Infinity are not either): {error}") from None


def count(value: Any) -> int:
    """The value, where it is a count. Raises Refused."""
    if type(value) is not int or not 0 <= value < LARGEST_INTEGER:
        raise Refused(f"{value!r:.40} is not a count")
    return value


def archived_files(archive: bytes, what: str, most_bytes: int) -> dict[str, str]:
    """File name -> text of a packed tar. Raises Refused.

    what: what the archive has, in words. most_bytes: unpacked.
    """
    try:
        stream = BytesIO(unpack(archive, most_bytes, "it"))
        files = dict(tar_files(stream, most_bytes, most_bytes))
        if not files:
            raise Refused("it is empty")
    except Refused as error:
        raise Refused(f"The archive of the {what} cannot be read: {error}.") from None
    return {name: body.decode(errors="replace") for name, body in files.items()}


def tar_files(
    stream: BufferedIOBase, most_bytes: int, most_bytes_of_file: int
) -> Iterator[tuple[str, bytes]]:
    """Name and content of each file; of a larger one the first bytes, one more than may be.

    tarfile reads a header of any size into memory, and calls itself for each further one.
    Raises Refused.
    """
    name = ""
    read = files = 0
    while (header := stream.read(tarfile.BLOCKSIZE)).strip(b"\0"):
        try:
            entry = tarfile.TarInfo.frombuf(header, "utf-8", "replace")
        except (tarfile.TarError, ValueError) as error:
            raise Refused(f"it is not a tar file: {error}") from None
        padded = -(-entry.size // tarfile.BLOCKSIZE) * tarfile.BLOCKSIZE
        read += tarfile.BLOCKSIZE + padded
        if entry.size < 0 or read > most_bytes:
            raise TooLarge(f"it unpacks to more than {most_bytes // 2**20} MiB, the limit")
        if entry.type in HEADERS:
            if entry.size > LONGEST_HEADER_BYTES:
                raise Refused(f"a header in it has {entry.size} bytes")
            record = stream.read(padded)[: entry.size]
            if entry.type == tarfile.GNUTYPE_LONGNAME:
                name = record.partition(b"\0")[0].decode(errors="replace")
            elif entry.type == tarfile.XHDTYPE and (path := _PATH_RECORD.search(record)):
                name = path[1].decode(errors="replace")
            continue
        content = stream.read(min(entry.size, most_bytes_of_file + 1))
        _skip(stream, padded - len(content))
        if entry.isfile():
            files += 1
            if files > MOST_FILES:
                raise Refused(f"it has more than {MOST_FILES} files")
            yield name or entry.name, content
        name = ""


def _skip(stream: BufferedIOBase, remaining: int) -> None:
    while remaining > 0 and (piece := stream.read(min(remaining, _PIECE_BYTES))):
        remaining -= len(piece)
