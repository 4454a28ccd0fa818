"""Ids that differ by little: perhaps one entity in the world, and here as many as there are ids."""

import unicodedata
from functools import lru_cache

import duckdb

from closedset.catalog import NearDuplicates
from closedset.render import render

_NAMED = 10


@lru_cache
def _forms() -> dict[str, str]:
    """Characters that are an ASCII letter or digit in another form (full width, raised), and what they mean."""
    codes = (*range(0x80, 0xD800), *range(0xF900, 0x10000))
    folded = {chr(c): unicodedata.normalize("NFKC", chr(c)).casefold() for c in codes}
    wide = {c: f for c, f in folded.items() if len(f) == 1 and f.isascii() and f.isalnum()}
    return {"wide": "".join(wide), "narrow": "".join(wide.values()), "any_wide": f"[{''.join(wide)}]"}


def duplicates(con: duckdb.DuckDBPyConnection) -> NearDuplicates:
    """The groups of ids that are the same but for case, width, punctuation, blanks and leading zeros."""
    found = con.execute(render("load/near_duplicate.sql.j2"), _forms()).fetchall()
    if not found:
        return NearDuplicates()
    keys = [key for key, _, _ in found]
    named = con.execute(render("load/near_named.sql.j2"), {**_forms(), "keys": keys, "most": _NAMED}).fetchall()
    return NearDuplicates(groups=found[0][1], ids=found[0][2], first=[ids for (ids,) in named])
