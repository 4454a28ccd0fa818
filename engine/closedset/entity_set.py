"""A set of entities as a bitmap over dense ordinals: what a scan returns, and what the verdicts are made of.

The first bit of the first byte is ordinal 0, as in DuckDB's BIT; the length is a whole number of bytes, so
that a BIT and its bytes are the same. Ordinals follow entity ids in code-point order.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache, reduce
from itertools import islice
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa

_REVERSED = bytes(int(f"{i:08b}"[::-1], 2) for i in range(256))
#: The members that each byte holds, and the bytes that hold any: both are found without a step a byte.
_MEMBERS = tuple(tuple(bit for bit in range(8) if byte & (0x80 >> bit)) for byte in range(256))
_HOLDING = re.compile(rb"\0*+([^\0]|\Z)")
_CHUNK = 2048
_NOBODY = bytes(_CHUNK)
#: So many bytes are combined as one integer before importing Arrow's compute kernels pays.
_SMALL = 8192
#: So few members of a large set are listed by Arrow, however far apart they are.
_FEW = 2000


@dataclass(frozen=True, eq=False)
class EntitySet:
    """`bits` are the bitmap's bytes (`bytes`, or an Arrow buffer), over `universe` entities. Combining two sets needs
    the same universe; one that is known to hold nobody, or everybody, is combined without reading a bit."""

    bits: "bytes | pa.Buffer"
    universe: int

    @classmethod
    def empty(cls, universe: int) -> "EntitySet":
        return _nobody(universe)

    @classmethod
    def whole(cls, universe: int) -> "EntitySet":
        return _everybody(universe)

    @classmethod
    def of_bytes(cls, blob: "bytes | pa.Buffer | None", universe: int) -> "EntitySet":
        """From a bitmap's bytes; None is what an aggregate gives without rows: the empty set."""
        return cls(blob, universe) if blob else cls.empty(universe)

    @classmethod
    def of_ordinals(cls, ordinals: Iterable[int], universe: int) -> "EntitySet":
        blob = bytearray(width(universe) // 8)
        for ordinal in ordinals:
            blob[ordinal >> 3] |= 0x80 >> (ordinal & 7)
        return cls(bytes(blob), universe)

    def __and__(self, other: "EntitySet") -> "EntitySet":
        if self._known == 0 or other._known == self.universe:
            return self
        if other._known == 0 or self._known == self.universe:
            return other
        if self._small:
            return self._of_number(self._number & other._number)
        import pyarrow.compute as pc

        return self._of_array(pc.and_(self._array, other._array))

    def __or__(self, other: "EntitySet") -> "EntitySet":
        if self._known == 0 or other._known == self.universe:
            return other
        if other._known == 0 or self._known == self.universe:
            return self
        if self._small:
            return self._of_number(self._number | other._number)
        import pyarrow.compute as pc

        return self._of_array(pc.or_(self._array, other._array))

    def __sub__(self, other: "EntitySet") -> "EntitySet":
        if self._known == 0 or other._known == 0:
            return self
        if other._known == self.universe:
            return _nobody(self.universe)
        if self._small:
            return self._of_number(self._number & ~other._number)
        import pyarrow.compute as pc

        return self._of_array(pc.and_not(self._array, other._array))

    def __len__(self) -> int:
        return self._count

    @cached_property
    def _count(self) -> int:
        return self._number.bit_count() if self._small else self._array.true_count

    def counted(self) -> "EntitySet":
        """The same set, its members counted: should it hold nobody or everybody, that is known from then on."""
        len(self)
        return self

    @property
    def _known(self) -> int | None:
        """How many members it has, where they have been counted."""
        return vars(self).get("_count")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, EntitySet):
            return NotImplemented
        return self.universe == other.universe and self.to_bytes() == other.to_bytes()

    __hash__ = None  # type: ignore[assignment]

    def __contains__(self, ordinal: int) -> bool:
        return bool(memoryview(self.bits).cast("B")[ordinal >> 3] & (0x80 >> (ordinal & 7)))

    def to_bytes(self) -> bytes:
        return bytes(self.bits)

    @property
    def _small(self) -> bool:
        return self.universe <= _SMALL * 8

    @property
    def _number(self) -> int:
        return int.from_bytes(self.bits, "big")

    def _of_number(self, number: int) -> "EntitySet":
        return EntitySet(number.to_bytes(width(self.universe) // 8, "big"), self.universe)

    @property
    def _array(self) -> "pa.BooleanArray":
        """The bitmap as Arrow's kernels take it: in what order they see the bits of a byte changes nothing."""
        return _booleans(self.bits, width(self.universe))

    def _of_array(self, array: "pa.BooleanArray") -> "EntitySet":
        return EntitySet(array.buffers()[1].slice(0, width(self.universe) // 8), self.universe)

    def ordinals(self, limit: int | None = None, offset: int = 0) -> list[int]:
        """Ordinals in ascending order, from the `offset`-th, at most `limit` of them."""
        if not self._small and len(self) <= _FEW:
            found: list[int] = self.column().to_pylist()
            return found[offset : None if limit is None else offset + max(limit, 0)]
        return list(islice(self._from(offset), None if limit is None else max(limit, 0)))

    def _from(self, offset: int) -> Iterator[int]:
        blob = memoryview(self.bits).cast("B")
        for start in range(0, len(blob), _CHUNK):
            chunk = bytes(blob[start : start + _CHUNK])
            if chunk == _NOBODY[: len(chunk)]:
                continue
            if offset and (held := int.from_bytes(chunk, "big").bit_count()) <= offset:
                offset -= held
                continue
            ends = (at.end() - 1 for at in _HOLDING.finditer(chunk) if at[1])
            found = ((start + end) * 8 + bit for end in ends for bit in _MEMBERS[chunk[end]])
            yield from islice(found, offset, None)
            offset = 0

    def rank(self, ordinal: int) -> int:
        """How many members come before this ordinal."""
        blob = memoryview(self.bits).cast("B")[: (ordinal >> 3) + 1]
        last = blob[-1] >> (8 - (ordinal & 7))
        return int.from_bytes(blob[:-1], "big").bit_count() + last.bit_count()

    def mask(self) -> "pa.BooleanArray":
        """One boolean an ordinal, sharing no loop with Python: Arrow packs bits from the low end."""
        return _booleans(self.to_bytes().translate(_REVERSED), self.universe)

    def column(self) -> "pa.Array":
        """All ordinals as one Arrow column of the type that rows state their entity in: DuckDB tests rows of another
        type only after it has read them."""
        if self._small:
            import pyarrow as pa

            return pa.array(self.ordinals(), pa.int32())
        import pyarrow as pa
        import pyarrow.compute as pc

        # Bit by bit, words that hold nobody would take as long as those that hold somebody.
        words = _words(self.bits)
        places = pc.indices_nonzero(words)
        if 2 * len(places) > len(words):
            return pc.indices_nonzero(self.mask()).cast(pa.int32())
        held = words.take(places).buffers()[1].slice(0, 8 * len(places)).to_pybytes()
        inside = pc.indices_nonzero(_booleans(held.translate(_REVERSED), 64 * len(places)))
        first = pc.shift_left(places, pa.scalar(6, pa.uint64()))
        return pc.add(
            first.take(pc.shift_right(inside, pa.scalar(6, pa.uint64()))),
            pc.bit_wise_and(inside, pa.scalar(63, pa.uint64())),
        ).cast(pa.int32())

    def words(self) -> "pa.Table":
        """The bitmap by 64 bits, as a table: `word`, its place, and `bits`, of those that hold anybody. The bit of an
        ordinal in its word, ordinal // 64, is that of 2 ** (ordinal % 64 ^ 7): a byte begins with its highest bit.
        """
        import pyarrow as pa
        import pyarrow.compute as pc

        bits = _words(self.bits)
        places = pc.indices_nonzero(bits)
        return pa.table({"word": places.cast(pa.int32()), "bits": bits.take(places)})


def _booleans(bits: "bytes | pa.Buffer", length: int) -> "pa.BooleanArray":
    import pyarrow as pa

    return pa.Array.from_buffers(pa.bool_(), length, [None, pa.py_buffer(bits)])


def _words(bits: "bytes | pa.Buffer") -> "pa.UInt64Array":
    """A bitmap by 64 bits; of its bytes, the last ones that make no whole word are followed by empty ones."""
    import pyarrow as pa

    size = len(memoryview(bits))
    if size % 8:
        bits, size = bytes(bits).ljust(size + 8 - size % 8, b"\0"), size + 8 - size % 8
    elif pa.py_buffer(bits).address % 8:
        bits = bytes(bits)
    return pa.Array.from_buffers(pa.uint64(), size // 8, [None, pa.py_buffer(bits)])


@lru_cache(maxsize=4)
def _nobody(universe: int) -> EntitySet:
    return EntitySet(bytes(width(universe) // 8), universe).counted()


@lru_cache(maxsize=4)
def _everybody(universe: int) -> EntitySet:
    last = 0xFF00 >> (universe % 8) & 0xFF
    return EntitySet((b"\xff" * (universe // 8) + bytes((last,)))[: width(universe) // 8], universe).counted()


def width(universe: int) -> int:
    """The number of bits a bitmap of so many entities has: a whole number of bytes, at least one."""
    return max(8, -(-universe // 8) * 8)


def union(sets: Iterable[EntitySet], universe: int) -> EntitySet:
    """Who is in any of the sets; nobody, where there is none."""
    return reduce(EntitySet.__or__, sets, EntitySet.empty(universe))


def intersection(sets: Iterable[EntitySet], universe: int) -> EntitySet:
    """Who is in every set; everybody, where there is none."""
    return reduce(EntitySet.__and__, sets, EntitySet.whole(universe))
