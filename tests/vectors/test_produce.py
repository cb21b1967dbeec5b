"""Vectors V60 to V69 and V72: what Produce accepts without a transaction (spec 8.5)."""

import struct

from oncelog.client.faults import error_name
from oncelog.protocol.messages.produce import PartitionProduceResponse
from oncelog.record.batch import CONTROL, LOG_APPEND_TIME, NewRecord, build_batch, read_header, records_of
from tests.vectors.play import Partition, Target, now_ms, produced, records, rewritten

MAX = 2_147_483_647
TOO_OLD = "INVALID_TIMESTAMP @-1 start told"


def refused(answer: PartitionProduceResponse) -> str:
    """The error and whether the log start offset is told."""
    start = "start told" if answer.log_start_offset >= 0 else "start -1"
    return f"{error_name(answer.error_code)} @{answer.base_offset} {start}"


def test_v60_what_is_no_single_batch_of_format_2(target: Target, produce_version: int) -> None:
    log = target.partition(produce_version)
    good = build_batch(records())
    old = bytearray(good)
    old[16] = 1
    broken = bytearray(good)
    broken[-1] ^= 1
    with target.vector(f"V60 v{produce_version}") as row:
        row("acks 2", refused(log.append(good, acks=2)), "INVALID_REQUIRED_ACKS @-1 start -1")
        row("two batches", refused(log.append(good + good)), "INVALID_RECORD @-1 start -1")
        row("empty", refused(log.append(b"")), "INVALID_RECORD @-1 start -1")
        row("magic 1", refused(log.append(bytes(old))), "INVALID_RECORD @-1 start -1")
        row("bad CRC", refused(log.append(bytes(broken))), "CORRUPT_MESSAGE @-1 start -1")
        row("as it should be", produced(log.append(good)), "NONE @0")


def test_spec_1_13_row_4_what_a_partition_of_a_request_holds(target: Target, produce_version: int) -> None:
    """Bytes behind the batch that begin no other one are left out; what cannot be a batch is corrupt."""
    log = target.partition(produce_version)
    good = build_batch(records())

    def changed(at: int, new: bytes) -> bytes:
        return good[:at] + new + good[at + len(new) :]

    def length(count: int) -> bytes:
        return changed(8, struct.pack(">i", count))

    corrupt, invalid = "CORRUPT_MESSAGE @-1 start -1", "INVALID_RECORD @-1 start -1"
    with target.vector(f"1.13 row 4 v{produce_version}") as row:
        row("5 bytes behind it", produced(log.append(good + b"12345")), "NONE @0")
        row("the begin of another", produced(log.append(good + good[:-3])), "NONE @1")
        row("only the batch is kept", bytes(log.fetch(0).records or b"").count(good[61:]), 2)
        row("12 zeros behind it", refused(log.append(good + bytes(12))), corrupt)
        row("magic 3", refused(log.append(changed(16, b"\3"))), corrupt)
        row("magic 0", refused(log.append(changed(16, b"\0"))), invalid)
        row("length 10", refused(log.append(length(10))), corrupt)
        row("length 20", refused(log.append(length(20))), corrupt)
        row("length -1", refused(log.append(length(-1))), corrupt)
        row("a byte too long", refused(log.append(length(len(good) - 12 + 1))), invalid)
        row("a byte too short", refused(log.append(length(len(good) - 12 - 1))), corrupt)
        row("20 bytes of it", refused(log.append(good[:20])), invalid)
        row("all but a byte", refused(log.append(good[:-1])), invalid)


def test_v61_batches_that_contradict_themselves(target: Target, produce_version: int) -> None:
    log = target.partition(produce_version)
    good = build_batch(records(2))
    numbered = build_batch(records(), producer_id=target.producer_id(), producer_epoch=0, base_sequence=0)
    control = read_header(good).attributes | CONTROL
    wanted = "INVALID_RECORD @-1 start told"
    with target.vector(f"V61 v{produce_version}") as row:
        row("base offset 5", refused(log.append(rewritten(good, base_offset=5))), wanted)
        row("last offset delta too large", refused(log.append(rewritten(good, last_offset_delta=2))), wanted)
        row("last offset delta too small", refused(log.append(rewritten(good, last_offset_delta=0))), wanted)
        row("control bit", refused(log.append(rewritten(good, attributes=control))), wanted)
        row("producer id, sequence -1", refused(log.append(rewritten(numbered, base_sequence=-1))), wanted)
        row("as it should be", produced(log.append(good)), "NONE @0")


def test_v62_a_timestamp_from_the_future(target: Target, produce_version: int) -> None:
    log = target.partition(produce_version)
    with target.vector(f"V62 v{produce_version}") as row:
        answer = log.append(build_batch(records(timestamp=now_ms() + 2 * 3_600_000)))
        row("2 h ahead, CreateTime", refused(answer), "INVALID_TIMESTAMP @-1 start told")
        row("record errors", [each.batch_index for each in answer.record_errors], [0])
        row("with a message", bool(answer.error_message), True)
        append_time = target.partition(produce_version, {"message.timestamp.type": "LogAppendTime"})
        answer = append_time.append(build_batch(records(timestamp=now_ms() + 2 * 3_600_000)))
        row("2 h ahead, LogAppendTime", produced(answer), "NONE @0")


def test_v63_timestamps_that_are_fine(target: Target, produce_version: int) -> None:
    log = target.partition(produce_version)
    stamped = build_batch(records())
    with target.vector(f"V63 v{produce_version}") as row:
        row("timestamp 0", produced(log.append(build_batch(records(timestamp=0)))), "NONE @0")
        row("timestamp -1", produced(log.append(build_batch(records(timestamp=-1)))), "NONE @1")
        answer = log.append(rewritten(stamped, attributes=LOG_APPEND_TIME))
        row("LogAppendTime bit", produced(answer), "NONE @2")
        row("append time in the answer", answer.log_append_time_ms, -1)
        kept = read_header(bytes(log.fetch(2).records or b""))
        row("the bit is cleared", kept.attributes & LOG_APPEND_TIME, 0)


MOON_LANDING, IDES_OF_MARCH, LEAST = -14_182_940_000, -63_517_780_800_000, -(2**63)


def test_v63_timestamps_before_1970(target: Target, produce_version: int) -> None:
    """Kept as they are. A batch without a later one says that it has none, and no lookup by time finds them."""
    log = target.partition(produce_version)

    def batch(*times: int) -> bytes:
        return build_batch([NewRecord(b"k", b"v", each) for each in times])

    def kept(offset: int) -> str:
        raw = bytes(log.fetch(offset).records or b"")
        header = read_header(raw)
        times = [each.timestamp for each in records_of(memoryview(raw)[: header.size], header)]
        return f"{times} largest {header.max_timestamp}"

    def listed(timestamp: int) -> str:
        found = log.list_offset(timestamp)
        return f"{error_name(found.error_code)} {found.offset} ({found.timestamp})"

    with target.vector(f"V63 before 1970 v{produce_version}") as row:
        row("1969", produced(log.append(batch(MOON_LANDING))), "NONE @0")
        row("as it is kept", kept(0), f"[{MOON_LANDING}] largest -1")
        row("latest of all", listed(-3), "NONE -1 (-1)")
        row("since 1970", listed(0), "NONE -1 (-1)")
        row("since 1969", listed(MOON_LANDING), "UNSUPPORTED_VERSION -1 (-1)")
        row("44 BC, 1969, 1970", produced(log.append(batch(IDES_OF_MARCH, MOON_LANDING, 1))), "NONE @1")
        row("as they are kept", kept(1), f"[{IDES_OF_MARCH}, {MOON_LANDING}, 1] largest 1")
        row("since 1970, again", listed(0), "NONE 3 (1)")
        row("so long ago that the difference overflows", refused(log.append(batch(LEAST))), TOO_OLD)
        week = target.partition(produce_version, {"message.timestamp.before.max.ms": "604800000"})
        row("1969, a week at most", refused(week.append(batch(MOON_LANDING))), TOO_OLD)
        row("-1 is no time, a week at most", produced(week.append(batch(-1))), "NONE @0")


def test_v64_topics_and_sizes_that_are_refused(target: Target, produce_version: int) -> None:
    log = target.partition(produce_version)
    target.group_ready("any").close()  # so that __consumer_offsets exists
    good = build_batch(records())
    large = build_batch(records(size=1_150_000))
    internal = Partition(target, "__consumer_offsets", produce_version)
    unknown = "UNKNOWN_TOPIC_ID" if produce_version >= 13 else "UNKNOWN_TOPIC_OR_PARTITION"
    with target.vector(f"V64 v{produce_version}") as row:
        row("__consumer_offsets", refused(internal.append(good)), "INVALID_TOPIC_EXCEPTION @-1 start -1")
        row("unknown topic", refused(log.append(good, topic="nobody-made-this")), f"{unknown} @-1 start -1")
        row("1.1 MB batch", refused(log.append(large)), "MESSAGE_TOO_LARGE @-1 start -1")


def test_v65_to_v68_sequences_of_one_producer(target: Target, produce_version: int) -> None:
    log = target.partition(produce_version)
    producer_id = target.producer_id()
    stamp = now_ms()

    def send(sequence: int, *, epoch: int = 0, count: int = 1) -> PartitionProduceResponse:
        return log.idempotent(producer_id, sequence, epoch=epoch, count=count, timestamp=stamp)

    def said(sequence: int, *, epoch: int = 0, count: int = 1) -> str:
        return produced(send(sequence, epoch=epoch, count=count))

    out_of_order = "OUT_OF_ORDER_SEQUENCE_NUMBER @-1"
    with target.vector(f"V65 v{produce_version}") as row:
        row("unseen producer id, sequence 5", said(5), "NONE @0")
        again = send(5)
        row("again", produced(again), "NONE @0")
        row("its append time", again.log_append_time_ms == stamp, True)
        row("sequence 7", said(7), out_of_order)
        row("7 again: where the log starts", refused(send(7)), f"{out_of_order} start told")
    with target.vector(f"V66 v{produce_version}") as row:
        for sequence in range(6, 13):
            row(f"sequence {sequence}", said(sequence), f"NONE @{sequence - 5}")
        for sequence in range(6, 13):
            wanted = out_of_order if sequence < 8 else f"NONE @{sequence - 5}"
            row(f"sequence {sequence} again", said(sequence), wanted)
    with target.vector(f"V67 v{produce_version}") as row:
        row("sequence 12 as two records", said(12, count=2), out_of_order)
        row("sequences 11 to 12 as two records", said(11, count=2), out_of_order)
        row("sequence 12 as it was", said(12), "NONE @7")
    with target.vector(f"V68 v{produce_version}") as row:
        row("epoch 1, sequence 3", said(3, epoch=1), out_of_order)
        row("epoch 1, sequence 0", said(0, epoch=1), "NONE @8")
        row("epoch 0, sequence 13", said(13), "INVALID_PRODUCER_EPOCH @-1")
        row("epoch 0, sequence 12, a duplicate once", said(12), "INVALID_PRODUCER_EPOCH @-1")
        row("epoch 1, sequence 1", said(1, epoch=1), "NONE @9")


def test_v69_sequences_wrap(target: Target, produce_version: int) -> None:
    log = target.partition(produce_version)
    producer_id = target.producer_id()
    with target.vector(f"V69 v{produce_version}") as row:
        row("sequence 2147483646", produced(log.idempotent(producer_id, MAX - 1)), "NONE @0")
        row("2147483647, three records", produced(log.idempotent(producer_id, MAX, count=3)), "NONE @1")
        row("sequence 2", produced(log.idempotent(producer_id, 2)), "NONE @4")
        row("2147483647 again", produced(log.idempotent(producer_id, MAX, count=3)), "NONE @1")
        row("sequence 4: a gap", produced(log.idempotent(producer_id, 4)), "OUT_OF_ORDER_SEQUENCE_NUMBER @-1")
        row("sequence 3", produced(log.idempotent(producer_id, 3)), "NONE @5")
        other = target.producer_id()
        row("another, 2147483647", produced(log.idempotent(other, MAX)), "NONE @6")
        row("sequence 1: a gap", produced(log.idempotent(other, 1)), "OUT_OF_ORDER_SEQUENCE_NUMBER @-1")
        row("sequence 0", produced(log.idempotent(other, 0)), "NONE @7")


def test_v72_a_transactional_id_beside_a_plain_batch(target: Target, produce_version: int) -> None:
    log = target.partition(produce_version)
    producer_id = target.producer_id()
    with target.vector(f"V72 v{produce_version}") as row:
        answer = log.idempotent(producer_id, 0, transactional_id="nobody-knows-this")
        row("sequence 0", produced(answer), "NONE @0")
        answer = log.idempotent(producer_id, 0, transactional_id="nobody-knows-this")
        row("again", produced(answer), "NONE @0")
        row(
            "not transactional in the log",
            read_header(bytes(log.fetch(0).records or b"")).is_transactional,
            False,
        )
