"""The gate in front of every text file: UTF-8 and nothing else, no NUL bytes, not empty. Faults are named by their byte."""

from __future__ import annotations

import codecs
import os

from steelyard.errors import SourceError

_CHUNK = 8 << 20
_OTHER = ((b"\xff\xfe\0\0", "UTF-32"), (b"\0\0\xfe\xff", "UTF-32"), (b"\xff\xfe", "UTF-16"), (b"\xfe\xff", "UTF-16"))


def check_text(plain: str, shown: str) -> None:
    """Refuse a file that is not UTF-8 text. plain: the file to read; shown: its name for the user."""
    if not os.path.getsize(plain):
        raise SourceError(f"cannot measure {shown!r}", got="an empty file: no items", need="at least one row")
    decoder = codecs.getincrementaldecoder("utf-8")()
    offset = 0
    with open(plain, "rb") as stream:
        while chunk := stream.read(_CHUNK):
            if not offset:
                _refuse_other(chunk, shown)
            nul = chunk.find(b"\0")
            if nul >= 0:
                hint = "this looks like UTF-16; save it as UTF-8" if chunk[:64].count(b"\0") > 8 else "the file is damaged or not text"
                raise SourceError(f"cannot read {shown!r}", got=f"a NUL byte at offset {offset + nul}", need="UTF-8 text", hint=hint)
            if not (chunk.isascii() and not decoder.getstate()[0]):  # most text is ASCII, which needs no decoding
                _decode(decoder, chunk, offset, shown, final=False)
            offset += len(chunk)
        _decode(decoder, b"", offset, shown, final=True)


def _decode(decoder: codecs.IncrementalDecoder, chunk: bytes, offset: int, shown: str, *, final: bool) -> None:
    pending = len(decoder.getstate()[0])  # bytes of a character that began in the chunk before
    try:
        decoder.decode(chunk, final)
    except UnicodeDecodeError as error:
        at = offset - pending + error.start
        byte = error.object[error.start]
        hint = "save it as UTF-8; it may be Latin-1 or Windows-1252"
        raise SourceError(f"cannot read {shown!r}", got=f"the byte 0x{byte:02x} at offset {at}", need="UTF-8 text", hint=hint) from None


def _refuse_other(head: bytes, shown: str) -> None:
    for mark, kind in _OTHER:
        if head.startswith(mark):
            raise SourceError(
                f"cannot read {shown!r}", got=f"{kind} text (byte order mark at offset 0)", need="UTF-8 text", hint="save it as UTF-8"
            )
