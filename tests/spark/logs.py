"""Stretches of a log for tests of the columnar codec: batches with everything that a fetch may bring."""

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Final

from hypothesis import strategies as st

from oncelog.client.visible import AbortedFrom
from oncelog.record.batch import (
    LOG_APPEND_TIME,
    MAGIC,
    TRANSACTIONAL,
    BatchHeader,
    NewRecord,
    encode_record,
    seal,
)
from oncelog.record.compression import compress
from oncelog.record.marker import encode_marker

HEADERS: Final[Sequence[tuple[str, bytes | None]]] = (
    ("", b""),
    ("trace", b"\0" * 16),
    ("ü", None),
    ("n" * 70, b"v" * 9000),
)


def sealed(
    records: Sequence[tuple[int, NewRecord]],
    *,
    base_offset: int = 0,
    last_offset_delta: int | None = None,
    codec: int = 0,
    attributes: int = 0,
    max_timestamp: int | None = None,
    producer_id: int = -1,
    count: int | None = None,
    payload: bytes | None = None,
) -> bytes:
    """A batch of (offset delta, record): a compacted one has deltas left out. What is given explicitly may be a lie."""
    base = records[0][1].timestamp if records else 0
    if payload is None:
        payload = b"".join([encode_record(delta, each.timestamp - base, each) for delta, each in records])
    deltas = [delta for delta, _ in records] or [0]
    return seal(
        BatchHeader(
            base_offset=base_offset,
            length=0,
            leader_epoch=0,
            magic=MAGIC,
            crc=0,
            attributes=attributes | codec,
            last_offset_delta=deltas[-1] if last_offset_delta is None else last_offset_delta,
            base_timestamp=base,
            max_timestamp=max((each.timestamp for _, each in records), default=-1)
            if max_timestamp is None
            else max_timestamp,
            producer_id=producer_id,
            producer_epoch=0 if producer_id >= 0 else -1,
            base_sequence=0 if producer_id >= 0 else -1,
            count=len(records) if count is None else count,
        ),
        compress(codec, payload) if codec else payload,
    )


def some_records(
    dice: Random, count: int, mean_bytes: int, *, varied: bool, deceiving: bool = True
) -> list[NewRecord]:
    """Records like those of one topic: of one size or of many, with and without keys, nulls and headers. `deceiving`: some
    have values full of bytes that look like attributes and small lengths.
    """
    keyed, nulls, headers, times = (
        dice.random() < 0.7,
        dice.random() < 0.3,
        dice.random() < 0.3,
        dice.randrange(4),
    )
    zeros = deceiving and dice.random() < 0.3
    time = dice.randrange(2**41)
    made: list[NewRecord] = []
    for _ in range(count):
        size = dice.randint(0, 2 * mean_bytes) if varied else mean_bytes
        value = bytes(dice.choices((0, 0, 0, 12, 14, 128, 1), k=size)) if zeros else dice.randbytes(size)
        time += (0, dice.random() < 0.02, dice.randrange(-200, 10_000), dice.randrange(-(2**40), 2**40))[
            times
        ]
        made.append(
            NewRecord(
                key=dice.randbytes(dice.choice((0, 8, 8, 70))) if keyed and dice.random() < 0.95 else None,
                value=None if nulls and dice.random() < 0.2 else value,
                timestamp=time,
                headers=dice.sample(HEADERS, dice.randrange(4)) if headers and dice.random() < 0.5 else (),
            )
        )
    return made


@dataclass(frozen=True, slots=True)
class Stretch:
    """A part of a partition's log, and what a read_committed Fetch says about it."""

    data: bytes
    aborted: tuple[AbortedFrom, ...]
    next_offset: int


def some_log(dice: Random, batches: int, records: int, mean_bytes: int) -> Stretch:
    """Batches of up to `records` records of several producers: plain, committed, aborted, compacted, compressed."""
    pieces: list[bytes] = []
    aborted: list[AbortedFrom] = []
    open_since: dict[int, int] = {}
    offset = dice.choice((0, 5, 2**40))
    for _ in range(batches):
        offset += dice.choice((0, 0, 0, 1, 1000))  # whole batches compacted away
        producer = dice.choice((-1, 0, 1, 2**40))
        if producer in open_since and dice.random() < 0.4:
            commit = dice.random() < 0.5
            if not commit:
                aborted.append(AbortedFrom(open_since[producer], producer))
            del open_since[producer]
            pieces.append(
                encode_marker(
                    base_offset=offset, leader_epoch=0, timestamp=7, producer_id=producer, producer_epoch=0,
                    coordinator_epoch=0, commit=commit,
                )
            )  # fmt: skip
            offset += 1
            continue
        made = list(
            enumerate(some_records(dice, dice.randint(1, records), mean_bytes, varied=dice.random() < 0.6))
        )
        deltas = len(made)
        if dice.random() < 0.2:
            made = [each for each in made if dice.random() < 0.8]
        attributes = LOG_APPEND_TIME if dice.random() < 0.2 else 0
        if producer >= 0 and dice.random() < 0.7:
            attributes |= TRANSACTIONAL
            open_since.setdefault(producer, offset)
        pieces.append(
            sealed(
                made,
                base_offset=offset,
                last_offset_delta=deltas - 1,
                codec=dice.choice((0, 0, 0, 0, 1, 2, 3, 4)),
                attributes=attributes,
                max_timestamp=1_700_000_000_123 if attributes & LOG_APPEND_TIME else None,
                producer_id=producer,
            )
        )
        offset += deltas
    # What is still open when the data ends is taken for aborted or not: its marker may stand beyond the data.
    aborted += [AbortedFrom(first, producer) for producer, first in open_since.items() if dice.random() < 0.5]
    return Stretch(b"".join(pieces), tuple(aborted), offset)


logs: Final = st.builds(
    some_log,
    st.builds(Random, st.integers(0, 2**32)),
    st.integers(0, 12),
    st.sampled_from((1, 3, 40, 300)),
    st.sampled_from((0, 10, 50, 62, 100, 1000)),
)
