"""What the simulator reads out of the broker's bytes by itself."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oncelog.record.batch import NewRecord, build_batch, records_of
from oncelog.record.txn_state import TransactionPartitions, TransactionValue, encode_value
from oncelog.sim.invariants import (
    _stored,  # pyright: ignore[reportPrivateUsage]  # looked at from inside
    keys_and_values,
)

ONGOING = 1
PARTITIONS = st.lists(
    st.builds(
        TransactionPartitions,
        topic=st.sampled_from([1, 126, 127, 128, 249]).map("t".__mul__),
        partition_ids=st.lists(st.integers(0, 9), max_size=3) | st.just(list(range(130))),
    ),
    max_size=3,
)


@pytest.mark.parametrize("version", [0, 1])
@given(partitions=st.none() | PARTITIONS, started=st.integers(-1, 1 << 62), tagged=st.booleans())
def test_the_start_of_a_transaction_is_found_behind_its_partitions(
    version: int, partitions: list[TransactionPartitions] | None, started: int, tagged: bool
) -> None:
    value = TransactionValue(
        producer_id=7,
        producer_epoch=3,
        timeout_ms=1_000,
        status=ONGOING,
        partitions=partitions,
        last_update_timestamp=5,
        start_timestamp=started,
        previous_producer_id=6 if tagged and version else -1,
        client_transaction_version=2 if tagged and version else 0,
    )
    assert _stored(encode_value(value, version)).started_ms == started


SOME_BYTES = st.none() | st.binary(max_size=3) | st.integers(60, 20_000).map(bytes)


@given(records=st.lists(st.tuples(SOME_BYTES, SOME_BYTES, st.integers(0, 1 << 40)), min_size=1, max_size=70))
def test_keys_and_values_of_a_batch_are_those_that_the_broker_reads(
    records: list[tuple[bytes | None, bytes | None, int]],
) -> None:
    batch = build_batch([NewRecord(key, value, at) for key, value, at in records])
    assert list(keys_and_values(batch)) == [(each.key, each.value) for each in records_of(batch)]
