"""The formats of a reply."""

from enum import StrEnum


class Format(StrEnum):
    """`table` is for people; the others are for programs, and the same bytes wherever they go."""

    TABLE = "table"
    JSON = "json"
    JSONL = "jsonl"
    CSV = "csv"


class Report(StrEnum):
    """The formats of what is a report rather than a list."""

    TABLE = "table"
    JSON = "json"


class Listing(StrEnum):
    """The formats of a list of counted things."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"
