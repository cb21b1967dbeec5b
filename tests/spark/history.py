"""What the Spark jobs of the kill matrix did, as a history for the checker that simulated and killed brokers have too.

The job writes each number to two topics within one micro-batch, which is one transaction as far as readers can tell: so each
number is a transaction of its own here, of two sends that were acknowledged and committed. Then everything is read once.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from oncelog.sim.check import Anomaly, Checker
from oncelog.sim.history import EndTxn, History, Poll, Send


class Row(NamedTuple):
    partition: int
    offset: int
    value: bytes


def anomalies(sides: Mapping[str, Sequence[Row]], wanted: Sequence[bytes]) -> list[Anomaly]:
    """What is wrong with what readers of committed records see in these topics: nothing may be lost, doubled or torn."""
    history = History()
    checker = Checker(history)
    places = {
        topic: {row.value: f"{topic}-{row.partition}" for row in reversed(rows)}
        for topic, rows in sides.items()
    }
    for value in wanted:
        txn = value.decode()
        for topic in sides:
            partition = places[topic].get(value, f"{topic}-0")
            history.ok(
                history.invoke(Send(process=txn, partition=partition, values=[f"{txn} {topic}"], txn=txn))
            )
        history.ok(history.invoke(EndTxn(process=txn, txn=txn, commit=True)))
    for topic, rows in sides.items():
        for partition in sorted({row.partition for row in rows} | {0}):
            seen = sorted((row.offset, row.value) for row in rows if row.partition == partition)
            poll = history.invoke(
                Poll(process="last", partition=f"{topic}-{partition}", offset=0, committed=True, final=True)
            )
            poll.records = [(offset, f"{value.decode()} {topic}") for offset, value in seen]
            poll.next = seen[-1][0] + 1 if seen else 0
            history.ok(poll)
    return checker.finish()
