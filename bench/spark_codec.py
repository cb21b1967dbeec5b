"""How fast record batches become Arrow columns and columns become record batches, in one thread, beside other ways to do it.

    python -m bench.spark_codec                  # all shapes, 7 rounds, about two minutes of CPU
    python -m bench.spark_codec --rounds 3

Time is CPU time of the thread: the machine may be shared. Every round measures every way once, beginning with another one, so that a busy
moment or a cold cache hits all of them; the table shows the best round and the median. Writes spark_codec.json (every round) and spark_codec.md. The ways that lost are
here so that they can be measured again.
"""

import argparse
import json
import os
import platform
import random
import statistics
import sys
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np

from oncelog.client.partitioner import murmur2
from oncelog.client.visible import visible
from oncelog.model import Isolation, Producer, ProducerEpoch, ProducerId, TopicPartition
from oncelog.record.batch import HEADER_BYTES, NewRecord, batches, build_batch
from oncelog.spark import starts
from oncelog.spark.arrow import Array, pa
from oncelog.spark.decode import binary_column, decode
from oncelog.spark.encode import Encoder
from oncelog.spark.hashing import crc32_array, murmur2_array
from oncelog.spark.starts import Positions, Reader, record_bounds

HERE: Final = TopicPartition("settlements", 3)
US: Final = Producer(ProducerId(7), ProducerEpoch(0))
FETCH_BYTES: Final = 8 * 1024 * 1024
END: Final = 2**62
NOW: Final = 1_700_000_000_000


@dataclass(slots=True)
class Measured:
    """One way to do one thing: CPU seconds of each round."""

    what: str
    way: str
    records: int
    bytes: int
    seconds: list[float] = field(default_factory=list[float])

    @property
    def best(self) -> float:
        return min(self.seconds)


@dataclass(frozen=True, slots=True)
class Shape:
    """What the records of a topic look like."""

    value_bytes: int
    varied: bool
    key_bytes: int
    batch_bytes: int
    codec: str = "none"

    def __str__(self) -> str:
        size = "1 KB" if self.value_bytes == 1000 else f"{self.value_bytes} B"
        return ", ".join(
            [
                f"{size} {'varied' if self.varied else 'equal'}",
                f"key of {self.key_bytes}" if self.key_bytes else "no key",
                f"batches of {self.batch_bytes // 1024} KB",
                *([self.codec] if self.codec != "none" else []),
            ]
        )


SHAPES: Final = [
    *(
        Shape(value_bytes, varied, key_bytes, batch_bytes)
        for value_bytes in (100, 1000)
        for varied in (False, True)
        for key_bytes in (0, 8)
        for batch_bytes in (16 * 1024, 1024 * 1024)
    ),
    *(Shape(100, True, 8, 1024 * 1024, codec) for codec in ("gzip", "snappy", "lz4", "zstd")),
]


def rows_of(shape: Shape) -> Any:
    """About FETCH_BYTES of records as columns. Values are words, as JSON would be: some of the codecs' work is real."""
    dice = np.random.default_rng(1)
    count = FETCH_BYTES // (shape.value_bytes + shape.key_bytes + 10)
    low, high = (
        (shape.value_bytes // 2, shape.value_bytes * 3 // 2) if shape.varied else (shape.value_bytes,) * 2
    )
    sizes = dice.integers(low, high + 1, count)
    letters = np.frombuffer(b'{"merchant":"0123456789","amount":9876543210} ' * 1000, np.uint8)
    value = _binary(
        sizes, np.resize(letters, int(sizes.sum())) ^ dice.integers(0, 4, int(sizes.sum()), np.uint8)
    )
    columns = {"value": value, "timestamp": pa.array(NOW + np.arange(count) // 50)}
    if shape.key_bytes:
        keys = dice.integers(48, 58, count * shape.key_bytes, np.uint8)
        columns["key"] = _binary(np.full(count, shape.key_bytes), keys)
    return pa.RecordBatch.from_pydict(columns)


def _binary(sizes: Any, memory: Any) -> Array:
    bounds = np.append(0, np.cumsum(sizes)).astype(np.int32)
    return pa.Array.from_buffers(pa.binary(), sizes.size, [None, pa.py_buffer(bounds), pa.py_buffer(memory)])


def fetched(shape: Shape, rows: Any) -> bytes:
    """The same records as a fetch would bring them."""
    offset, pieces = 0, list[bytes]()
    for batch in Encoder(US, False, shape.codec, shape.batch_bytes, lambda: NOW).add(rows):
        pieces.append(offset.to_bytes(8, "big") + batch[8:])
        offset += int.from_bytes(batch[57:61], "big")
    return b"".join(pieces)


# ---- ways to decode ----------------------------------------------------------------------------------------------------


def decode_by_columns(data: bytes, columns: Sequence[str] | None = None) -> Any:
    return decode(data, topic=HERE.topic, partition=HERE.partition, start=0, stop=END, columns=columns)


def decode_by_objects(data: bytes) -> Any:
    """The client's reader, then a column from each attribute."""
    seen = visible(HERE, data, from_offset=0, isolation=Isolation.READ_COMMITTED, aborted=()).records
    return pa.RecordBatch.from_pydict(
        {
            "key": pa.array([each.key for each in seen], pa.binary()),
            "value": pa.array([each.value for each in seen], pa.binary()),
            "topic": pa.array([each.topic for each in seen], pa.string()),
            "partition": pa.array([each.partition for each in seen], pa.int32()),
            "offset": pa.array([each.offset for each in seen], pa.int64()),
            "timestamp": pa.array([each.timestamp * 1000 for each in seen], pa.timestamp("us", "UTC")),
        }
    )


# ---- ways to find where records begin ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Found:
    """An uncompressed stretch and its batches."""

    reader: Reader
    begins: Positions
    ends: Positions
    counts: Positions


def batches_of(data: bytes) -> Found:
    at = [(place, header.size, header.count) for place, header in batches(data)]
    places, sizes, counts = (np.array(each, np.int64) for each in zip(*at, strict=True))
    return Found(Reader(np.frombuffer(data, np.uint8)), places + HEADER_BYTES, places + sizes, counts)


def starts_by_lanes(found: Found) -> Positions:
    return record_bounds(found.reader, found.begins, found.ends, found.counts)[0]


def starts_by_lanes_without_guesses(found: Found) -> Positions:
    limits = np.append(found.begins[1:], found.ends[-1])
    return starts._walk(found.reader, found.begins.copy(), np.minimum(limits, found.ends))  # pyright: ignore[reportPrivateUsage]


def starts_by_a_loop(found: Found) -> Positions:
    """One short step of Python per record, with nothing in it but its length."""
    payload = found.reader.plain.tobytes()
    places: list[int] = []
    append = places.append
    for begin, count in zip(found.begins.tolist(), found.counts.tolist(), strict=True):
        at: int = begin
        for _ in range(count):
            append(at)
            low = payload[at]
            if low < 0x80:
                at += 1 + (low >> 1)
            else:
                at += 2 + ((low & 0x7F | payload[at + 1] << 7) >> 1)
    return np.array(places, np.int64)


def starts_by_runs(found: Found) -> Positions:
    """Neighbours of one size are found by comparing their lengths at equal steps: a run ends where a length differs."""
    plain = found.reader.plain
    places: list[Positions] = []
    for begin, end in zip(found.begins.tolist(), found.ends.tolist(), strict=True):
        at: int = begin
        while at < end:
            low, high = int(plain[at]), int(plain[at + 1])
            size = 1 + (low >> 1) if low < 0x80 else 2 + ((low & 0x7F | high << 7) >> 1)
            most = (end - at) // size
            lengths = np.ndarray((most,), "<u2", plain, offset=at, strides=(size,))
            same = lengths == lengths[0] if low >= 0x80 else lengths & 0xFF == low
            run = most if same.all() else int(same.argmin())
            places.append(np.arange(at, at + run * size, size, dtype=np.int64))
            at += run * size
    return np.concatenate(places)


def starts_by_pointer_jumping(found: Found) -> Positions:
    """Where every byte would lead if a record began there, then which bytes are led to: all in numpy, whatever it costs."""
    plain = found.reader.plain
    every = np.arange(plain.size + 1)
    leads = every + found.reader.jumps(np.minimum(every, plain.size - 2))
    np.minimum(leads, plain.size, out=leads)
    leads[found.ends] = found.ends  # nothing leads out of a batch
    reached = np.zeros(plain.size + 1, np.bool_)
    reached[found.begins] = True
    for _ in range(int(found.counts.max()).bit_length()):
        reached[leads[np.flatnonzero(reached)]] = True
        leads = leads[leads]
    reached[found.ends] = False
    return np.flatnonzero(reached)


# ---- ways to copy slices of a stretch into a column --------------------------------------------------------------------


def gather_by_filter(memory: Any, at: Positions, size: Positions) -> Array:
    bounds = np.empty(2 * at.size, np.int32)
    bounds[0::2], bounds[1::2] = at, at + size
    both = pa.Array.from_buffers(pa.binary(), 2 * at.size - 1, [None, pa.py_buffer(bounds), memory])
    wanted = np.zeros(2 * at.size - 1, np.bool_)
    wanted[::2] = True
    return both.filter(pa.array(wanted))


def gather_by_take(memory: Any, at: Positions, size: Positions) -> Array:
    bounds = np.empty(2 * at.size, np.int32)
    bounds[0::2], bounds[1::2] = at, at + size
    both = pa.Array.from_buffers(pa.binary(), 2 * at.size - 1, [None, pa.py_buffer(bounds), memory])
    return both.take(pa.array(np.arange(0, 2 * at.size - 1, 2)))


def gather_by_views(memory: Any, at: Positions, size: Positions) -> Array:
    """Arrow's view type: nothing is copied until the cast. Right for values of more than 12 bytes only."""
    views = np.zeros((at.size, 4), np.int32)
    views[:, 0], views[:, 3] = size, at
    first = np.ndarray((memory.size - 3,), "<i4", memory, strides=(1,))
    views[:, 1] = first[at]
    return pa.Array.from_buffers(pa.binary_view(), at.size, [None, pa.py_buffer(views), memory]).cast(
        pa.binary()
    )


def gather_by_index(memory: Any, at: Positions, size: Positions) -> Array:
    """A position for every single byte."""
    bounds = np.append(0, np.cumsum(size))
    index = np.arange(int(bounds[-1])) + np.repeat(at - bounds[:-1], size)
    copied = np.frombuffer(memory, np.uint8)[index]
    return pa.Array.from_buffers(
        pa.binary(), at.size, [None, pa.py_buffer(bounds.astype(np.int32)), pa.py_buffer(copied)]
    )


# ---- ways to encode ----------------------------------------------------------------------------------------------------


def encode_by_columns(shape: Shape, rows: Any) -> list[bytes | memoryview]:
    return Encoder(US, True, shape.codec, shape.batch_bytes, lambda: NOW).add(rows)


def encode_by_objects(shape: Shape, rows: Any) -> list[bytes]:
    codes = {"none": 0, "gzip": 1, "snappy": 2, "lz4": 3, "zstd": 4}
    keys = rows.column("key").to_pylist() if "key" in rows.schema.names else [None] * rows.num_rows
    times = rows.column("timestamp").to_pylist()
    records = [NewRecord(*each) for each in zip(keys, rows.column("value").to_pylist(), times, strict=True)]
    per_batch = max(1, shape.batch_bytes // (shape.value_bytes + shape.key_bytes + 10))
    return [
        build_batch(
            records[at : at + per_batch],
            codec=codes[shape.codec],
            producer_id=7,
            producer_epoch=0,
            base_sequence=at,
        )
        for at in range(0, len(records), per_batch)
    ]


# ---- all of it ---------------------------------------------------------------------------------------------------------


def cases(shape: Shape) -> Iterator[tuple[Measured, Callable[[], Any]]]:
    """Everything that is measured for one shape."""
    rows = rows_of(shape)
    data = fetched(shape, rows)
    count = rows.num_rows
    plain = sum(each.nbytes for each in rows.columns)
    few = rows.slice(0, count // 8)  # for what takes microseconds per record
    few_data = fetched(shape, few)

    def case(
        what: str, way: str, records: int, size: int, do: Callable[[], Any]
    ) -> tuple[Measured, Callable[[], Any]]:
        return Measured(f"{what}: {shape}", way, records, size), do

    yield case("decode", "columns", count, plain, lambda: decode_by_columns(data))
    yield case("decode", "columns, value only", count, plain, lambda: decode_by_columns(data, ("value",)))
    yield case(
        "decode", "an object per record", few.num_rows, plain // 8, lambda: decode_by_objects(few_data)
    )
    yield case("encode", "columns", count, plain, lambda: encode_by_columns(shape, rows))
    yield case(
        "encode", "an object per record", few.num_rows, plain // 8, lambda: encode_by_objects(shape, few)
    )
    if shape.codec != "none":
        return
    found, few_found = batches_of(data), batches_of(few_data)
    where = starts_by_lanes(found)
    for way in (starts_by_lanes_without_guesses, starts_by_a_loop):
        assert np.array_equal(way(found), where), way.__name__
    assert np.array_equal(starts_by_pointer_jumping(few_found), starts_by_lanes(few_found))
    yield case("starts", "lanes", count, plain, lambda: starts_by_lanes(found))
    yield case(
        "starts", "lanes without guesses", count, plain, lambda: starts_by_lanes_without_guesses(found)
    )
    yield case("starts", "a loop over the lengths", count, plain, lambda: starts_by_a_loop(found))
    if not shape.varied:
        assert np.array_equal(starts_by_runs(found), where)
        yield case("starts", "runs of one size", count, plain, lambda: starts_by_runs(found))
    yield case(
        "starts", "pointer jumping", few.num_rows, plain // 8, lambda: starts_by_pointer_jumping(few_found)
    )
    memory, size = (
        pa.py_buffer(data),
        np.diff(np.append(where, len(data))) - 80,
    )  # any part of each record will do
    np.maximum(size, 13, out=size)
    expected = binary_column(memory, where, size)
    for gather in (gather_by_filter, gather_by_take, gather_by_views, gather_by_index):
        assert gather(memory, where, size).equals(expected), gather.__name__
        way = gather.__name__.removeprefix("gather_by_")
        yield case("gather", way, count, plain, lambda do=gather: do(memory, where, size))


def hash_cases() -> Iterator[tuple[Measured, Callable[[], Any]]]:
    dice = random.Random(1)
    for low, high in ((8, 8), (16, 16), (36, 36), (4, 80)):
        keys = [dice.randbytes(dice.randint(low, high)) for _ in range(20_000)]
        column = pa.array(keys, pa.binary())
        what = f"keys of {low} bytes" if low == high else f"keys of {low} to {high} bytes"
        total = sum(len(each) for each in keys)
        assert murmur2_array(column).tolist() == [murmur2(each) for each in keys]
        assert crc32_array(column).tolist() == [zlib.crc32(each) for each in keys]
        yield Measured(f"murmur2: {what}", "columns", len(keys), total), lambda c=column: murmur2_array(c)
        yield (
            Measured(f"murmur2: {what}", "a loop", len(keys), total),
            lambda k=keys: np.array([murmur2(each) for each in k], np.uint32),
        )
        yield Measured(f"crc32: {what}", "columns", len(keys), total), lambda c=column: crc32_array(c)
        yield (
            Measured(f"crc32: {what}", "a loop of zlib", len(keys), total),
            lambda c=column: np.array([zlib.crc32(each) for each in c.to_pylist()], np.uint32),
        )


def measure(rounds: int, shapes: Sequence[Shape], say: Callable[[str], None]) -> dict[str, Any]:
    results: list[Measured] = []
    for name, group in [*((str(shape), cases(shape)) for shape in shapes), ("hashes", hash_cases())]:
        ways = list(group)
        for do in (do for _, do in ways):
            do()  # the first call pays for imports and memory
        for turn in range(
            rounds
        ):  # each time from another one on: what runs first warms the memory for the next
            for measured, do in ways[turn % len(ways) :] + ways[: turn % len(ways)]:
                began = time.thread_time()
                do()
                measured.seconds.append(time.thread_time() - began)
        results += [measured for measured, _ in ways]
        say(f"{name}: done")
    return {
        "command": f"python -m bench.spark_codec --rounds {rounds}",
        "machine": {
            "cores": os.cpu_count(),
            "system": f"{platform.system()} {platform.machine()}",
            "python": platform.python_version(),
            "numpy": np.__version__,
            "pyarrow": pa.__version__,
            "load_average": os.getloadavg()[0],
        },
        "clock": "CPU seconds of the thread",
        "results": [asdict(each) for each in results],
    }


def table(found: dict[str, Any]) -> str:
    machine = found["machine"]
    said = (
        f"`{found['command']}`: {machine['cores']} cores, {machine['system']}, Python {machine['python']}, numpy "
        f"{machine['numpy']}, pyarrow {machine['pyarrow']}, load average at the end {machine['load_average']:.1f}. "
        "One thread, CPU time; best round and median."
    )
    lines = [said]
    results = [Measured(**each) for each in found["results"]]
    for part in dict.fromkeys(each.what.split(":")[0] for each in results):
        lines += [
            "",
            f"## {part}",
            "| records | way | M rec/s | median | ns/record | GB/s |",
            "|---|---|---|---|---|---|",
        ]
        for each in results:
            kind, _, shape = each.what.partition(": ")
            if kind == part:
                middle = statistics.median(each.seconds)
                lines.append(
                    f"| {shape} | {each.way} | {each.records / each.best / 1e6:.2f} | {each.records / middle / 1e6:.2f} "
                    f"| {each.best / each.records * 1e9:.0f} | {each.bytes / each.best / 1e9:.2f} |"
                )
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--out", default="bench/results")
    asked = parser.parse_args()
    found = measure(asked.rounds, SHAPES, lambda text: print(text, file=sys.stderr, flush=True))
    out = Path(asked.out)
    out.mkdir(parents=True, exist_ok=True)
    (out / "spark_codec.json").write_text(json.dumps(found, indent=1) + "\n")
    (out / "spark_codec.md").write_text(table(found))
    print(table(found))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
