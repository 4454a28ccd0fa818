"""The text of an export's files: unpacked, decoded, and refused by line where a byte is no letter of its encoding."""

import codecs
import contextlib
import gzip
import tempfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, cast

from closedset.errors import LoadRefused
from closedset.load.read.part import Part

_CHUNK = 1 << 20
#: What a file may start with, longest first: UTF-32's mark begins with that of UTF-16.
_BOMS = (
    (codecs.BOM_UTF32_LE, "utf-32-le"), (codecs.BOM_UTF32_BE, "utf-32-be"), (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"),
)  # fmt: skip


def opened(file: Path) -> BinaryIO:
    """The file's bytes, unpacked."""
    suffix = file.suffix.lower()
    if suffix == ".gz":
        return cast(BinaryIO, gzip.open(file))
    if suffix == ".zst":
        import pyarrow as pa

        return cast(BinaryIO, pa.CompressedInputStream(pa.OSFile(str(file)), "zstd"))
    return file.open("rb")


@contextlib.contextmanager
def reading(file: Path) -> Iterator[BinaryIO]:
    """The file's bytes, unpacked. Refuses what cannot be read to its end."""
    try:
        with opened(file) as stream:
            yield stream
    except (OSError, EOFError, zlib.error) as error:
        if isinstance(error, OSError) and error.errno:
            raise LoadRefused(f"{file}: cannot be read: {error.strerror}") from None
        raise LoadRefused(f"{file}: cannot be read ({error}); is it whole, and packed as its name says?") from None


def first_bytes(file: Path) -> tuple[bytes, bool]:
    """Enough of a file to hold its header, and whether that is all of it. Refuses an empty file."""
    with reading(file) as stream:
        head = stream.read(_CHUNK)
    if not head:
        raise LoadRefused(f"{file}: the file is empty (0 bytes): not even a header; nobody was looked at by it")
    return head, len(head) < _CHUNK


def encoding(part: Part, head: bytes) -> tuple[str, int]:
    """A file's encoding and how many bytes its mark takes. What the map declares must not contradict the mark."""
    bom, marked = next(((bom, name) for bom, name in _BOMS if head.startswith(bom)), (b"", None))
    declared = codecs.lookup(part.options.encoding).name if part.options.encoding else None
    if marked is None:
        if declared in ("utf-16", "utf-32"):
            raise LoadRefused(
                f"{part.place}:1: the file has no mark that says which {declared} it is; "
                f"write `encoding: {declared}-le` (or -be) in the map"
            )
        return ("utf-8" if declared in (None, "utf-8-sig") else declared) or "utf-8", 0
    if declared is not None and not marked.startswith(declared.removesuffix("-sig")):
        raise LoadRefused(
            f"{part.place}:1: the file starts with the mark of {marked}, and the map declares {declared}; "
            "take `encoding` out of the map: the mark says it"
        )
    return marked, len(bom)


@contextlib.contextmanager
def as_utf8(part: Part) -> Iterator[tuple[Path, int]]:
    """The file as UTF-8 without the lines that are skipped, and their number: the file itself where it is that
    already, else a copy that is gone afterwards. Refuses a byte that its encoding does not know, by line."""
    head, _ = first_bytes(part.path)
    name, mark = encoding(part, head)
    if name == "utf-8" and not part.options.skip:
        yield part.path, 0
        return
    with tempfile.TemporaryDirectory(prefix="closedset-") as folder:
        copy = Path(folder) / "text.csv"
        with copy.open("wb") as out:
            for text in _after(part, decoded(part, name, mark)):
                out.write(text.encode())
        if not copy.stat().st_size:
            raise LoadRefused(f"{part.place}: `skip: {part.options.skip}` leaves no line of the file")
        yield copy, part.options.skip


def _after(part: Part, chunks: Iterator[str]) -> Iterator[str]:
    """The text after the lines that are skipped; a line ends as it may in one file: \\n, \\r\\n or \\r."""
    left = part.options.skip
    held = ""
    for text in chunks:
        held += text
        while left:
            ends = [at for mark in "\r\n" if (at := held.find(mark)) >= 0]
            # A \r that ends the chunk may be the first half of \r\n.
            if not ends or (held[min(ends)] == "\r" and min(ends) + 1 == len(held)):
                break
            end = min(ends)
            held = held[end + (2 if held[end : end + 2] == "\r\n" else 1) :]
            left -= 1
        else:
            yield held
            held = ""
    if held and left == 1 and held.endswith("\r"):
        return
    if held and not left:
        yield held


def decoded(part: Part, name: str, mark: int) -> Iterator[str]:
    """The file's text in pieces. Refuses a byte that its encoding does not know, by line."""
    decoder = codecs.getincrementaldecoder(name)("strict")
    line = 1
    with reading(part.path) as stream:
        stream.read(mark)
        while True:
            chunk = stream.read(_CHUNK)
            try:
                text = decoder.decode(chunk, final=not chunk)
                text.encode()
            except UnicodeDecodeError as error:
                before = error.object[: error.start].decode(name, "ignore")
                raise LoadRefused(
                    f"{part.place}:{line + before.count(chr(10))}: {not_text(error.object[error.start], name)}"
                ) from None
            except UnicodeEncodeError as error:
                at = line + text.count("\n", 0, error.start)
                raise LoadRefused(f"{part.place}:{at}: half a character; is the file {name}?") from None
            line += text.count("\n")
            yield text
            if not chunk:
                return


def not_text(byte: int, name: str = "utf-8") -> str:
    """What to say of a byte that its encoding does not know."""
    if name != "utf-8":
        return f"byte {byte:#04x} is not {name}; name the file's own encoding with `encoding` in the map"
    return (
        f"byte {byte:#04x} is not UTF-8 (Latin-1 or cp1252?); save the file as UTF-8, or name its encoding in the map, "
        "as in `files: {TABLE: {file: NAME, encoding: cp1252}}`"
    )
