"""Producer id rollover as an ordinary path (TRAP-7, B16, TX-12). `make rollover` runs 200,000 transactions from epoch 0."""

import oncelog
from oncelog.client.address import Address
from oncelog.client.easy import read_all
from oncelog.client.session import Connection
from oncelog.model import Producer, ProducerEpoch, ProducerId
from oncelog.server.main import Server
from oncelog.tasks import spawn
from oncelog.txn.state import State, Txn
from tests.conformance.rollover import ID, TOPIC, init, roll


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


def test_one_producer_outlives_its_epochs_b16() -> None:
    with oncelog.Broker() as broker:
        host, port = broker.bootstrap.split(":")
        with Connection(Address(host, int(port))) as door:
            init(door, "other")  # so that there is a __transaction_state to write to
        broker.run(lambda server: write_worn_id(server, ID, 32_600))
        broker.restart()
        done = roll(broker.bootstrap, 400)
        assert done.rollovers == 1
        assert done.end_offset == 2 * done.transactions  # one record and one marker each, all of them stable
        values = [record.value for record in read_all(broker.bootstrap, TOPIC)]
        assert values == [b"%d" % number for number in range(400)]
