"""Producer id rollover as an ordinary path (TRAP-7, B16, TX-12). `make rollover` runs 200,000 transactions from epoch 0."""

from collections.abc import Callable
from typing import Final

import oncelog
from oncelog.client.easy import read_all
from oncelog.model import Producer, ProducerEpoch, ProducerId
from oncelog.server.main import Server
from oncelog.tasks import spawn
from oncelog.txn.state import State, Txn
from tests.clients import connect
from tests.conformance.comeback import describe
from tests.conformance.rollover import ID, LAST_EPOCH, TOPIC, Rolled, init, roll, roll_java, written
from tests.conformance.transactional import java_class
from tests.toolchains import Missing, leave_out

WORN_EPOCH: Final = 32_600
TRANSACTIONS: Final = 400


def write_worn_id(server: Server, transactional_id: str, epoch: int) -> None:
    """An id whose epochs are nearly used up, as a long life would leave it."""
    now = server.clock.wall_ms()
    worn = Txn(
        transactional_id=transactional_id,
        producer=Producer(ProducerId(0), ProducerEpoch(epoch)),
        previous_producer_id=ProducerId(0),
        timeout_ms=60_000,
        state=State.COMPLETE_COMMIT,
        start_ms=now,
        update_ms=now,
        client_version=2,
    )
    spawn(server.loop, server.broker.transactions.write_record(worn)).result()


def roll_worn_id(client: Callable[[str, int], Rolled]) -> None:
    with oncelog.Broker() as broker:
        with connect(broker.bootstrap) as door:
            init(door, "other")  # so that there is a __transaction_state to write to
        broker.run(lambda server: write_worn_id(server, ID, WORN_EPOCH))
        broker.restart()
        done = client(broker.bootstrap, TRANSACTIONS)
        assert (done.transactions, done.rollovers) == (TRANSACTIONS, 1)
        assert done.end_offset == 2 * TRANSACTIONS  # one record and one marker each, all of them stable
        values = [record.value for record in read_all(broker.bootstrap, TOPIC)]
        assert values == [b"%d" % number for number in range(TRANSACTIONS)]

        used = [(each.producer_id, each.producer_epoch) for each in written(broker.bootstrap)][::2]
        of_old = LAST_EPOCH - WORN_EPOCH  # the first epoch is the one after what was found
        new_id = used[-1][0]
        assert new_id != 0
        assert used[:of_old] == [(0, WORN_EPOCH + 1 + each) for each in range(of_old)]
        assert used[of_old:] == [(new_id, each) for each in range(TRANSACTIONS - of_old)]
        for _ in range(2):
            state = describe(broker, ID)
            assert state.transaction_state == "CompleteCommit"
            assert (state.producer_id, state.producer_epoch) == (new_id, TRANSACTIONS - of_old)
            broker.restart()  # and as it was written down


def test_one_producer_outlives_its_epochs_b16() -> None:
    roll_worn_id(roll)


def test_a_java_producer_outlives_its_epochs_b16() -> None:
    try:
        java_class("Rollover")
    except Missing as why:
        leave_out("rollover of the Java client's producer id", why)
    roll_worn_id(roll_java)
