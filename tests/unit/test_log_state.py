"""Producer state at the partition leader: spec 04 row by row, and the vectors that need nothing but a log."""

from dataclasses import dataclass
from typing import Final

import pytest

from oncelog.errors import ErrorCode
from oncelog.log.aborted import aborted_in
from oncelog.log.state import (
    ACCEPT,
    CompletedTransaction,
    Duplicate,
    Guard,
    LogState,
    Refusal,
    advance_high_watermark,
    begin_verification,
    decide_append,
    decide_marker,
    evolve,
    expire_producers,
    from_snapshot,
    has_ongoing_transaction,
    last_stable_offset,
    raise_log_start,
    to_snapshot,
)
from oncelog.model import Origin
from oncelog.record.aborted import AbortedEntry
from oncelog.record.batch import CONTROL, TRANSACTIONAL, BatchHeader
from oncelog.record.marker import Marker

MAX: Final = 2**31 - 1


def header(
    producer: int = 7,
    epoch: int = 0,
    sequence: int = 0,
    count: int = 1,
    *,
    transactional: bool = False,
    timestamp: int = 100,
) -> BatchHeader:
    attributes = TRANSACTIONAL if transactional else 0
    return BatchHeader(
        0, 49, 0, 2, 0, attributes, count - 1, timestamp, timestamp, producer, epoch, sequence, count
    )


def marker_header(producer: int, epoch: int, timestamp: int = 100) -> BatchHeader:
    return BatchHeader(
        0, 66, 0, 2, 0, TRANSACTIONAL | CONTROL, 0, timestamp, timestamp, producer, epoch, -1, 1
    )


@dataclass
class Log:
    """A log that accepts what the rules accept, and is durable at once unless told otherwise."""

    state: LogState
    durable: bool = True

    def send(self, batch: BatchHeader, guard: Guard | None = None, *, verify: bool = False) -> str:
        decision = decide_append(self.state, batch, origin=Origin.CLIENT, guard=guard, verify=verify)
        if isinstance(decision, Refusal):
            return str(int(decision.error))
        if isinstance(decision, Duplicate):
            return f"dup@{decision.base_offset}"
        return f"@{self.put(batch)}"

    def put(self, batch: BatchHeader) -> int:
        base = self.state.log_end_offset
        evolve(self.state, batch, base_offset=base)
        self._advance()
        return base

    def end(
        self,
        producer: int,
        epoch: int,
        *,
        commit: bool,
        coordinator: int = 0,
        version: int = 0,
        timestamp: int = 100,
    ) -> CompletedTransaction | None:
        assert decide_marker(self.state, producer, epoch, coordinator, version) is ACCEPT
        done = evolve(
            self.state,
            marker_header(producer, epoch, timestamp),
            base_offset=self.state.log_end_offset,
            marker=Marker(commit, coordinator),
            transaction_version=version,
        )
        self._advance()
        return done

    def _advance(self) -> None:
        if self.durable:
            advance_high_watermark(self.state, self.state.log_end_offset)


def log() -> Log:
    return Log(LogState())


# What the partition knows of producer 7 ("-": nothing; epoch, sequences of its batches, m: a marker of that epoch came
# last), the batch (epoch, first sequence, records), the answer: @ accepted, dup@ offset, or the error.
SEQUENCES = f"""
# known            batch            answer
  -                0 0 1            @            PS-4 no state: any sequence
  -                0 5 1            @
  -                3 {MAX} 1        @
  0:0              0 1 1            @            same epoch: last + 1
  0:0              0 2 1            45           a gap
  0:0              0 0 1            dup@0        PS-1
  0:0              0 0 2            45           TRAP-17 not the same range
  0:0,1,2          0 1 2            45           partial overlap of two
  0:0,1,2,3,4,5    0 0 1            45           TRAP-17 the sixth back
  0:0,1,2,3,4,5    0 1 1            dup@1
  0:0,1,2,3,4,5    0 5 1            dup@5
  0:{MAX}          0 0 1            @            TRAP-18 B56 after the last comes 0
  0:{MAX}          0 1 1            45
  0:{MAX - 1}      0 {MAX} 3        @            a batch over the wrap
  0:{MAX - 1}      0 0 1            45
  0:0              1 0 1            @            TRAP-39 a higher epoch begins at 0
  0:0              9 0 1            @
  0:0              1 1 1            45           B58
  0:0              1 3 1            45
  1:0              0 1 1            47           PS-3 an older epoch, never 90
  1:0              0 0 1            47           not even as a duplicate
  0:0,m            0 1 1            @            TRAP-19 a marker of the same epoch keeps the cache
  0:0,m            0 0 1            dup@0
  0:0,m1           1 0 1            @            a marker of a higher epoch clears it
  0:0,m1           1 1 1            45
  0:0,m1           0 1 1            47
  0:m              0 0 1            @            only a marker seen: last = -1
  0:m              0 1 1            45           B57
  0:m              0 {MAX} 1        45
  0:m              1 0 1            @
"""


def rows(table: str) -> list[list[str]]:
    return [line.split() for line in table.splitlines() if line.strip() and not line.strip().startswith("#")]


def known(text: str) -> Log:
    found = log()
    if text == "-":
        return found
    epoch, _, events = text.partition(":")
    for event in events.split(","):
        if event.startswith("m"):
            found.end(7, int(event[1:] or epoch), commit=True)
        else:
            found.put(header(epoch=int(epoch), sequence=int(event)))
    return found


@pytest.mark.parametrize("row", rows(SEQUENCES), ids=" ".join)
def test_ps_1_ps_3_ps_4_sequences_of_idempotent_producers(row: list[str]) -> None:
    state, epoch, sequence, count, wanted = *row[:1], *map(int, row[1:4]), row[4]
    answer = known(str(state)).send(header(epoch=int(epoch), sequence=int(sequence), count=int(count)))
    assert answer.startswith("@") if wanted == "@" else answer == wanted


def test_decide_changes_nothing_b47() -> None:
    found = known("0:0,1")
    before = [producer.as_tuple() for producer in found.state.producers.values()]
    for batch in (header(sequence=2), header(sequence=9), header(epoch=1), header(producer=8)):
        decide_append(found.state, batch, origin=Origin.CLIENT)
    decide_marker(found.state, 7, 5, 0, 0)
    assert [producer.as_tuple() for producer in found.state.producers.values()] == before
    assert found.state.log_end_offset == 2


def test_batches_without_a_producer_are_not_looked_at() -> None:
    found = log()
    assert [found.send(header(producer=-1, epoch=-1, sequence=-1)) for _ in range(3)] == ["@0", "@1", "@2"]
    assert found.state.producers == {}


def test_trap_13_producer_id_0_is_a_producer() -> None:
    found = log()
    assert found.send(header(producer=0)) == "@0"
    assert found.send(header(producer=0)) == "dup@0"


@pytest.mark.parametrize("origin", [Origin.COORDINATOR, Origin.REPLAY])
def test_4_2_sequences_of_other_origins_are_not_checked(origin: Origin) -> None:
    found = known("0:0")
    for sequence in (0, 1, 77):
        assert decide_append(found.state, header(sequence=sequence), origin=origin) is ACCEPT


def test_4_2_the_coordinators_epoch_is_checked_and_a_replays_is_not() -> None:
    found = known("1:0")
    refused = decide_append(found.state, header(epoch=0), origin=Origin.COORDINATOR)
    assert isinstance(refused, Refusal)
    assert refused.error is ErrorCode.INVALID_PRODUCER_EPOCH
    assert decide_append(found.state, header(epoch=0), origin=Origin.REPLAY) is ACCEPT


# V65 to V69 as recorded: each step is one Produce of an idempotent producer.
VECTORS = f"""
# id   steps (epoch/sequence/records) and answers
  V65  0/5/1=@0  0/5/1=dup@0  0/7/1=45
  V66  0/5/1=@0  0/6/1=@1  0/7/1=@2  0/8/1=@3  0/9/1=@4  0/10/1=@5  0/11/1=@6  0/12/1=@7  0/6/1=45  0/7/1=45  0/8/1=dup@3  0/9/1=dup@4  0/10/1=dup@5  0/11/1=dup@6  0/12/1=dup@7
  V67  0/5/1=@0  0/5/2=45
  V68  0/5/1=@0  1/3/1=45  1/0/1=@1  0/6/1=47
  V69  0/{MAX - 1}/1=@0  0/{MAX}/3=@1  0/2/1=@4  0/{MAX}/3=dup@1
"""


@pytest.mark.parametrize("row", rows(VECTORS), ids=lambda row: row[0])
def test_vectors(row: list[str]) -> None:
    found = log()
    for step in row[1:]:
        asked, _, wanted = step.partition("=")
        epoch, sequence, count = map(int, asked.split("/"))
        assert found.send(header(epoch=epoch, sequence=sequence, count=count)) == wanted, step


def test_a_new_epoch_forgets_the_batches_of_the_old_one() -> None:
    found = known("0:0,1,2")
    assert found.send(header(epoch=1, sequence=0)) == "@3"
    assert found.send(header(epoch=1, sequence=1)) == "@4"
    assert found.send(header(epoch=1, sequence=0)) == "dup@3"


def test_v65_trap_17_a_duplicate_carries_the_time_of_the_first() -> None:
    found = log()
    found.put(header(sequence=5, count=3, timestamp=4_242))
    answer = decide_append(found.state, header(sequence=5, count=3, timestamp=9), origin=Origin.CLIENT)
    assert answer == Duplicate(base_offset=0, last_offset=2, timestamp=4_242)


def test_the_written_timestamp_counts_not_the_clients() -> None:
    state = LogState()
    evolve(state, header(timestamp=5), base_offset=0, max_timestamp=777)
    assert state.producers[7].last_timestamp == 777
    assert decide_append(state, header(), origin=Origin.CLIENT) == Duplicate(0, 0, 777)


# PS-2, PS-5 and the rows of 4.4 about verification. known: an ongoing transaction "t<epoch>", or as above;
# verify: "-" none, else epoch/sequence/version asked before; guard: ok, none, stale; batch: epoch/sequence, n: not
# transactional.
TRANSACTIONS = """
# known   verify     guard  batch    answer
  -       0/0/11     ok     0/0      @       verified
  -       0/5/11     ok     0/5      @       any sequence for an unknown producer before Produce 12
  -       0/0/11     none   0/0      48      PS-2 TRAP-23 no guard
  -       -          none   0/0      48      TRAP-22
  -       0/0/11     stale  0/0      48      the guard of another entry
  -       0/5/12     ok     0/5      45      V75: Produce 12 and nothing cached: 0 only
  -       0/0/12     ok     0/0      @
  -       0/3/11     ok     0/5      45      B5 a lower sequence is on its way
  -       0/3/11     ok     0/2      @       at most the lowest
  0:0     0/1/11     ok     0/1      @
  0:0     0/1/12     ok     0/1      @       Produce 12, but batches are cached
  0:0     0/0/11     ok     0/1      45      V77: the refused 0 is remembered
  0:0     0/0/11     none   0/0      dup@0   PS-1 before the guard
  1:0     -          none   0/0      47      PS-2 the epoch before the guard
  0:0     1/0/12     ok     1/0      @       a new epoch
  0:0     1/4/11     ok     1/4      45      a new epoch begins at 0
  0:0,m1  1/0/12     ok     1/0      @       TV2: the marker's epoch cleared the cache
  0:0,m1  1/3/12     ok     1/3      45
  t0      -          none   0/1      @       ongoing with this epoch: no guard needed
  t0      -          none   1/0      48      ongoing with another epoch
  t0      -          none   0/1n     48      PS-5 V74 not transactional while one is ongoing
  t0      -          none   0/2      45      V74 a gap
  t0      -          none   0/3n     45      the sequence before PS-5
"""


@pytest.mark.parametrize("row", rows(TRANSACTIONS), ids=" ".join)
def test_ps_2_ps_5_transactional_batches(row: list[str]) -> None:
    state, asked, guarded, batch, wanted = row[:5]
    if state.startswith("t"):
        found = log()
        found.put(header(epoch=int(state[1:]), transactional=True))
    else:
        found = known(state)
    guard: Guard | Refusal | None = None
    if asked != "-":
        epoch, sequence, version = map(int, asked.split("/"))
        guard = begin_verification(found.state, 7, epoch, sequence, supports_epoch_bump=version >= 12, now=0)
        assert isinstance(guard, Guard)
    if guarded != "ok":
        guard = Guard() if guarded == "stale" else None
    epoch, sequence = map(int, batch.removesuffix("n").split("/"))
    sent = header(epoch=epoch, sequence=sequence, transactional=not batch.endswith("n"))
    answer = found.send(sent, guard, verify=True)
    assert answer.startswith("@") if wanted == "@" else answer == wanted


def test_v72_a_batch_that_is_not_transactional_needs_no_guard() -> None:
    assert log().send(header(), verify=True) == "@0"


def test_verification_may_be_switched_off() -> None:
    assert log().send(header(transactional=True), verify=False) == "@0"


def test_v77_a_duplicate_does_not_clear_the_verification() -> None:
    found = log()
    found.put(header(sequence=0, count=3, transactional=True))
    found.end(7, 0, commit=True)
    begin_verification(found.state, 7, 0, 0, supports_epoch_bump=False, now=0)  # refused: not added
    guard = begin_verification(found.state, 7, 0, 3, supports_epoch_bump=False, now=0)
    assert isinstance(guard, Guard)
    assert found.send(header(sequence=3, transactional=True), guard, verify=True) == "45"
    assert found.send(header(sequence=0, count=3, transactional=True), guard, verify=True) == "dup@0"
    assert found.send(header(sequence=3, transactional=True), guard, verify=True) == "45"
    found.end(7, 0, commit=False)
    guard = begin_verification(found.state, 7, 0, 3, supports_epoch_bump=False, now=0)
    assert isinstance(guard, Guard)
    assert found.send(header(sequence=3, transactional=True), guard, verify=True) == "@5"


def test_4_5_one_guard_for_all_batches_under_verification() -> None:
    state = LogState()
    first = begin_verification(state, 7, 0, 5, supports_epoch_bump=False, now=0)
    assert isinstance(first, Guard)
    assert begin_verification(state, 7, 0, 2, supports_epoch_bump=False, now=1) is first
    assert begin_verification(state, 7, 0, 9, supports_epoch_bump=False, now=2) is first
    assert state.verifications[7].lowest_sequence == 2
    assert begin_verification(state, 7, 1, 4, supports_epoch_bump=False, now=3) is first
    assert (state.verifications[7].epoch, state.verifications[7].lowest_sequence) == (1, 4)
    begin_verification(state, 7, 0, 0, supports_epoch_bump=False, now=4)
    assert state.verifications[7].lowest_sequence == 4


def test_4_5_nothing_to_verify_or_too_late() -> None:
    found = log()
    found.put(header(epoch=2, transactional=True))
    assert begin_verification(found.state, 7, 2, 1, supports_epoch_bump=True, now=0) is None
    assert has_ongoing_transaction(found.state, 7, 2)
    assert not has_ongoing_transaction(found.state, 7, 1)
    assert not has_ongoing_transaction(found.state, 8, 2)
    refused = begin_verification(found.state, 7, 1, 0, supports_epoch_bump=True, now=0)
    assert isinstance(refused, Refusal)
    assert refused.error is ErrorCode.INVALID_PRODUCER_EPOCH
    assert found.state.verifications == {}


def test_4_5_the_first_append_of_a_transaction_uses_up_the_guard() -> None:
    found = log()
    guard = begin_verification(found.state, 7, 0, 0, supports_epoch_bump=True, now=0)
    assert isinstance(guard, Guard)
    assert found.send(header(transactional=True), guard, verify=True) == "@0"
    assert found.state.verifications == {}
    found.end(7, 1, commit=True, version=2)
    assert found.send(header(epoch=1, transactional=True), guard, verify=True) == "48"


@pytest.mark.parametrize(
    ("version", "epoch", "stays"), [(0, 1, False), (2, 1, True), (2, 2, False), (0, 0, False)]
)
def test_4_5_b3_a_marker_removes_the_guard(version: int, epoch: int, stays: bool) -> None:
    """But under TV2 not the one of the next transaction, which has the marker's epoch."""
    found = log()
    found.put(header(transactional=True))
    guard = begin_verification(found.state, 7, 1, 0, supports_epoch_bump=True, now=0)
    assert isinstance(guard, Guard)
    found.end(7, epoch, commit=False, version=version)
    assert (7 in found.state.verifications) is stays


MARKERS = """
# known       marker: epoch coordinator version   answer
  -           5 0 0       @                V89: an unknown producer
  0:0         0 0 0       @                PS-6 TV1: the same epoch
  1:0         0 0 0       47
  0:0         9 0 1       @
  t3          3 0 2       47               V87 TV2: must be greater
  t3          2 0 2       47
  t3          4 0 2       @
  t3          4 -1 2      @                no coordinator epoch known yet
  t3,c0       4 -1 2      52               V87 PS-7
  t3          3 0 1       @                TV1: may be equal
  t32767      32767 0 2   @                the last epoch may be equal
  3:m         3 0 2       @                B19: nothing ongoing: the retry of a marker already written
  3:m         2 0 2       47
  3:m,c5      4 3 2       52               V88
  3:m,c5      3 5 2       @                V88
  3:m,c5      3 9 0       @
  3:m,c5      2 3 0       47               the epoch before the coordinator epoch
"""


@pytest.mark.parametrize("row", rows(MARKERS), ids=" ".join)
def test_ps_6_ps_7_markers(row: list[str]) -> None:
    text, _, coordinator = row[0].partition(",c")
    if text.startswith("t"):
        found = log()
        found.put(header(epoch=int(text[1:]), transactional=True))
    else:
        found = known(text)
    if coordinator:
        found.state.producers[7].coordinator_epoch = int(coordinator)
    answer = decide_marker(found.state, 7, *map(int, row[1:4]))
    if row[4] == "@":
        assert answer is ACCEPT
    else:
        assert isinstance(answer, Refusal)
        assert str(int(answer.error)) == row[4]


def test_ps_8_a_marker_ends_the_transaction_and_takes_an_offset() -> None:
    found = log()
    found.put(header(epoch=3, count=2, transactional=True))
    done = found.end(7, 4, commit=False, coordinator=9, timestamp=555)
    assert done == CompletedTransaction(7, first_offset=0, last_offset=2, aborted=True, last_stable_offset=3)
    producer = found.state.producers[7]
    assert (producer.epoch, producer.coordinator_epoch, producer.last_timestamp) == (4, 9, 555)
    assert (list(producer.batches), producer.transaction_first_offset) == ([], -1)
    assert found.state.log_end_offset == 3


def test_ps_8_trap_20_a_marker_without_a_transaction_leaves_no_index_entry() -> None:
    found = log()
    assert found.end(7, 4, commit=False, coordinator=2) is None
    assert found.state.log_end_offset == 1
    producer = found.state.producers[7]
    assert (producer.epoch, producer.coordinator_epoch, producer.last_sequence) == (4, 2, -1)  # TRAP-24


def test_b45_an_empty_control_batch_changes_nothing_but_the_end() -> None:
    state = LogState()
    evolve(state, marker_header(7, 1)._replace(count=0), base_offset=0, marker=None)
    assert (state.log_end_offset, state.producers) == (1, {})


def test_v80_v81_v82_v83_three_transactions() -> None:
    found = log()
    a, b, c = 1, 2, 3
    index: list[AbortedEntry] = []

    def end(producer: int, *, commit: bool) -> None:
        done = found.end(producer, 0, commit=commit)
        assert done is not None
        if done.aborted:
            index.append(
                AbortedEntry(done.producer_id, done.first_offset, done.last_offset, done.last_stable_offset)
            )

    for producer in (a, b, c):
        found.put(header(producer=producer, transactional=True))
    end(b, commit=False)
    assert found.state.log_end_offset == 4
    assert last_stable_offset(found.state) == 0  # V80
    found.put(header(producer=b, sequence=1, transactional=True))
    end(a, commit=False)
    assert last_stable_offset(found.state) == 2
    end(c, commit=True)
    assert last_stable_offset(found.state) == 4
    end(b, commit=True)
    assert last_stable_offset(found.state) == 8  # V81
    assert index == [AbortedEntry(b, 1, 3, 0), AbortedEntry(a, 0, 5, 2)]  # V83
    wanted = {0: [(a, 0), (b, 1)], 3: [(a, 0), (b, 1)], 4: [(a, 0)], 6: []}  # V82, sorted by first offset
    assert {at: aborted_in(index, at, 8) for at in wanted} == wanted
    assert aborted_in([], 0, 8) == []  # V84


def test_ps_11_rc_1_trap_27_the_aborted_list() -> None:
    index = [AbortedEntry(1, 10, 20, 5), AbortedEntry(2, 5, 30, 25), AbortedEntry(1, 25, 40, 41)]
    assert aborted_in(index[1:], 0, 5) == []  # the upper bound is exclusive
    assert aborted_in(index, 0, 6) == [(2, 5)]
    assert aborted_in(index, 20, 41) == [(2, 5), (1, 10), (1, 25)]  # the marker's own offset still needs it
    assert aborted_in(index, 21, 41) == [(2, 5), (1, 25)]  # RC-4: what ended below would hide what came after
    assert aborted_in(index, 31, 41) == [(1, 25)]
    assert aborted_in(index, 41, 99) == []


def test_ps_11_the_scan_stops_where_nothing_more_can_begin_below() -> None:
    def entries() -> list[AbortedEntry]:
        return [AbortedEntry(1, 0, 9, 10), AbortedEntry(2, 11, 12, 13)]

    read: list[AbortedEntry] = []

    def reading() -> object:
        for entry in entries():
            read.append(entry)
            yield entry

    assert aborted_in(reading(), 0, 10) == [(1, 0)]  # pyright: ignore[reportArgumentType]  # a generator of entries
    assert len(read) == 1


def test_ps_10_the_index_entry_names_the_next_open_transaction_of_another() -> None:
    found = log()
    for producer in (1, 2, 3):
        found.put(header(producer=producer, transactional=True))
    assert found.end(1, 0, commit=False) == CompletedTransaction(1, 0, 3, aborted=True, last_stable_offset=1)
    assert found.end(3, 0, commit=False) == CompletedTransaction(3, 2, 4, aborted=True, last_stable_offset=1)
    assert found.end(2, 0, commit=False) == CompletedTransaction(2, 1, 5, aborted=True, last_stable_offset=6)


def test_ps_9_trap_21_the_lso_waits_until_the_marker_is_durable() -> None:
    found = log()
    found.durable = False
    found.put(header(producer=-1, epoch=-1, sequence=-1))
    found.put(header(producer=1, transactional=True))
    found.put(header(producer=2, transactional=True))
    assert last_stable_offset(found.state) == 0  # nothing is durable
    advance_high_watermark(found.state, 3)
    assert last_stable_offset(found.state) == 1
    found.end(1, 0, commit=True)
    assert last_stable_offset(found.state) == 1  # its marker is not durable
    found.end(2, 0, commit=True)
    advance_high_watermark(found.state, 4)
    assert last_stable_offset(found.state) == 2
    advance_high_watermark(found.state, 5)
    assert last_stable_offset(found.state) == 5
    advance_high_watermark(found.state, 2)
    assert found.state.high_watermark == 5


def test_ps_9_the_lso_is_never_above_the_high_watermark() -> None:
    found = log()
    found.durable = False
    for _ in range(3):
        found.put(header(producer=-1, epoch=-1, sequence=-1))
    found.put(header(transactional=True))
    advance_high_watermark(found.state, 2)
    assert last_stable_offset(found.state) == 2
    advance_high_watermark(found.state, 3)
    assert last_stable_offset(found.state) == 3


def test_trap_25_raising_the_log_start_keeps_producers_and_the_open_transaction() -> None:
    found = log()
    found.put(header(transactional=True))
    found.put(header(sequence=1, transactional=True))
    found.put(header(producer=-1, epoch=-1, sequence=-1))
    raise_log_start(found.state, 2)
    assert (found.state.log_start_offset, last_stable_offset(found.state)) == (2, 2)
    assert found.send(header(sequence=1, transactional=True)) == "dup@1"
    raise_log_start(found.state, 1)
    assert found.state.log_start_offset == 2
    done = found.end(7, 0, commit=False)
    assert done is not None
    assert done.first_offset == 0
    assert last_stable_offset(found.state) == 4


def test_ps_12_b21_expiry_goes_by_record_and_marker_time() -> None:
    found = log()
    found.put(header(producer=1, timestamp=100))
    found.put(header(producer=2, timestamp=100, transactional=True))
    found.put(header(producer=3, timestamp=100, transactional=True))
    found.end(3, 0, commit=True, timestamp=150)
    begin_verification(found.state, 9, 0, 0, supports_epoch_bump=True, now=100)
    assert expire_producers(found.state, 199, 100) == []
    assert expire_producers(found.state, 200, 100) == [1]
    assert sorted(found.state.producers) == [2, 3]  # 2 has an open transaction, 3 a marker
    assert found.state.verifications == {}
    assert found.send(header(producer=1, sequence=77, timestamp=200)) == "@4"  # any sequence again
    assert expire_producers(found.state, 250, 100) == [3]


def test_fmt_5_a_snapshot_keeps_one_batch_and_the_open_transaction() -> None:
    found = log()
    for sequence in range(3):
        found.put(header(producer=1, sequence=sequence))
    found.put(header(producer=2, sequence=MAX, count=3, transactional=True))
    found.end(4, 6, commit=True, coordinator=8)
    again = from_snapshot(
        to_snapshot(found.state),
        log_start_offset=0,
        snapshot_offset=found.state.log_end_offset,
        now=150,
        expiration_ms=1_000,
    )
    assert to_snapshot(again) == to_snapshot(found.state)
    assert again.log_end_offset == 7
    assert again.ongoing == found.state.ongoing == {3: 2}
    restored = Log(again)
    restored.durable = False
    assert restored.send(header(producer=1, sequence=2)) == "dup@2"  # REC-7
    assert restored.send(header(producer=1, sequence=1)) == "45"
    assert restored.send(header(producer=2, sequence=MAX, count=3, transactional=True)) == "dup@3"
    assert restored.send(header(producer=2, sequence=2, transactional=True)) == "@7"
    assert restored.send(header(producer=4, epoch=6, sequence=1)) == "45"
    assert restored.send(header(producer=4, epoch=6, sequence=0)) == "@8"
    assert decide_marker(again, 4, 6, 7, 0) != ACCEPT


def test_ps_12_expired_producers_are_not_loaded_unless_a_transaction_is_open() -> None:
    found = log()
    found.put(header(producer=1))
    found.put(header(producer=2, transactional=True))
    again = from_snapshot(
        to_snapshot(found.state), log_start_offset=0, snapshot_offset=2, now=5_000, expiration_ms=1_000
    )
    assert list(again.producers) == [2]


def test_several_open_transactions_come_back_in_the_order_of_their_offsets() -> None:
    found = log()
    found.put(header(producer=9, sequence=0))
    for producer in (5, 4, 9):
        found.put(header(producer=producer, sequence=1 if producer == 9 else 0, transactional=True))
    again = from_snapshot(
        reversed(to_snapshot(found.state)), log_start_offset=0, snapshot_offset=4, now=0, expiration_ms=1_000
    )
    assert list(again.ongoing.items()) == [(1, 5), (2, 4), (3, 9)]
    advance_high_watermark(again, 4)
    assert last_stable_offset(again) == 1
