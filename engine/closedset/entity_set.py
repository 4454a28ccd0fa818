"""A set of entities as a bitmap over dense ordinals: what a scan returns, and what the verdicts are made of.

The first bit of the first byte is ordinal 0, as in DuckDB's BIT; the length is a whole number of bytes, so
that a BIT and its bytes are the same. Ordinals follow entity ids in code-point order.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import reduce
from itertools import islice
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa

_REVERSED = bytes(int(f"{i:08b}"[::-1], 2) for i in range(256))
#: The members that each byte holds, and the bytes that hold any: both are found without a step a byte.
_MEMBERS = tuple(tuple(bit for bit in range(8) if byte & (0x80 >> bit)) for byte in range(256))
_HOLDING = re.compile(rb"[^\0]")
_CHUNK = 512
_NOBODY = bytes(_CHUNK)
#: So many ordinals are listed by Python before importing Arrow's compute kernels pays.
_FEW = 20_000


@dataclass(frozen=True)
class EntitySet:
    """`bits` as one big integer over `universe` entities. Combining two sets needs the same universe."""

    bits: int
    universe: int

    @classmethod
    def empty(cls, universe: int) -> "EntitySet":
        return cls(0, universe)

    @classmethod
    def whole(cls, universe: int) -> "EntitySet":
        return cls(((1 << universe) - 1) << (width(universe) - universe), universe)

    @classmethod
    def of_bytes(cls, blob: bytes | None, universe: int) -> "EntitySet":
        """From a bitmap's bytes; None is what an aggregate gives without rows: the empty set."""
        return cls(int.from_bytes(blob, "big") if blob else 0, universe)

    @classmethod
    def of_ordinals(cls, ordinals: Iterable[int], universe: int) -> "EntitySet":
        blob = bytearray(width(universe) // 8)
        for ordinal in ordinals:
            blob[ordinal >> 3] |= 0x80 >> (ordinal & 7)
        return cls(int.from_bytes(blob, "big"), universe)

    def __and__(self, other: "EntitySet") -> "EntitySet":
        return EntitySet(self.bits & other.bits, self.universe)

    def __or__(self, other: "EntitySet") -> "EntitySet":
        return EntitySet(self.bits | other.bits, self.universe)

    def __sub__(self, other: "EntitySet") -> "EntitySet":
        return EntitySet(self.bits & ~other.bits, self.universe)

    def __len__(self) -> int:
        return self.bits.bit_count()

    def __contains__(self, ordinal: int) -> bool:
        return bool(self.bits >> (width(self.universe) - 1 - ordinal) & 1)

    def to_bytes(self) -> bytes:
        return self.bits.to_bytes(width(self.universe) // 8, "big")

    def ordinals(self, limit: int | None = None, offset: int = 0) -> list[int]:
        """Ordinals in ascending order, from the `offset`-th, at most `limit` of them."""
        return list(islice(self._from(offset), None if limit is None else max(limit, 0)))

    def _from(self, offset: int) -> Iterator[int]:
        blob = self.to_bytes()
        for start in range(0, len(blob), _CHUNK):
            chunk = blob[start : start + _CHUNK]
            if chunk == _NOBODY[: len(chunk)]:
                continue
            if offset and (held := int.from_bytes(chunk, "big").bit_count()) <= offset:
                offset -= held
                continue
            found = (
                (start + at.start()) * 8 + bit for at in _HOLDING.finditer(chunk) for bit in _MEMBERS[chunk[at.start()]]
            )
            yield from islice(found, offset, None)
            offset = 0

    def rank(self, ordinal: int) -> int:
        """How many members come before this ordinal."""
        return (self.bits >> (width(self.universe) - ordinal)).bit_count() if ordinal else 0

    def mask(self) -> "pa.BooleanArray":
        """One boolean an ordinal, sharing no loop with Python: Arrow packs bits from the low end."""
        import pyarrow as pa

        return pa.Array.from_buffers(
            pa.bool_(), self.universe, [None, pa.py_buffer(self.to_bytes().translate(_REVERSED))]
        )

    def column(self) -> "pa.Array":
        """All ordinals as one Arrow column, for a semi-join."""
        import pyarrow as pa

        if len(self) <= _FEW:
            return pa.array(self.ordinals(), pa.uint64())
        import pyarrow.compute as pc

        return pc.indices_nonzero(self.mask())


def width(universe: int) -> int:
    """The number of bits a bitmap of so many entities has: a whole number of bytes, at least one."""
    return max(8, -(-universe // 8) * 8)


def union(sets: Iterable[EntitySet], universe: int) -> EntitySet:
    """Who is in any of the sets; nobody, where there is none."""
    return reduce(EntitySet.__or__, sets, EntitySet.empty(universe))


def intersection(sets: Iterable[EntitySet], universe: int) -> EntitySet:
    """Who is in every set; everybody, where there is none."""
    return reduce(EntitySet.__and__, sets, EntitySet.whole(universe))
