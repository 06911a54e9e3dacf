"""What differs between engines: the quote character, two type names, a marker for a value, the md5 of a text, exact equality."""

from __future__ import annotations

from steelyard_old.late_dataclass import dataclass

BUCKET_DIGITS = 3  # hexadecimal: 4,096 buckets


def most_buckets() -> int:
    """How many buckets there can be."""
    return int(16**BUCKET_DIGITS)


@dataclass(frozen=True, slots=True)
class Dialect:
    """The few words that the portable text leaves open.

    exact: a text under an equality that tells A from a, whatever collation its column was declared with.
    digest: the md5 of a text in UTF-8, as 32 lower-case hexadecimal digits.
    """

    name: str
    quote: str
    text_type: str
    real_type: str
    marker: str
    exact: str
    digest: str

    def quoted(self, name: str) -> str:
        """A name as an identifier.

        >>> SPARK.quoted("a`b"), POSTGRESQL.quoted('a"b')
        ('`a``b`', '"a""b"')
        """
        return self.quote + name.replace(self.quote, 2 * self.quote) + self.quote

    def as_text(self, expression: str) -> str:
        return self.exact.format(f"CAST({expression} AS {self.text_type})")

    def as_real(self, expression: str) -> str:
        return f"CAST({expression} AS {self.real_type})"

    def bucket(self, text: str) -> str:
        """The bucket of a text: the first digits of its md5, alike on every engine, where each engine's own hash() is its own."""
        return f"SUBSTR({self.digest.format(text)}, 1, {BUCKET_DIGITS})"


DUCKDB = Dialect("DuckDB", '"', "VARCHAR", "DOUBLE", "$1", '({} COLLATE "C")', "MD5({})")
POSTGRESQL = Dialect("PostgreSQL", '"', "TEXT", "DOUBLE PRECISION", "$1", '({} COLLATE "C")', "MD5(CONVERT_TO({}, 'UTF8'))")
# SQLite has no md5: the connection brings one.
SQLITE = Dialect("SQLite", '"', "TEXT", "REAL", "?", "({} COLLATE BINARY)", "MD5({})")
SPARK = Dialect("Spark", "`", "STRING", "DOUBLE", "?", "({} COLLATE UTF8_BINARY)", "MD5({})")
