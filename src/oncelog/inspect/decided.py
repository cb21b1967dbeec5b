"""How a transaction was decided that is open in a partition though its coordinator has done with it."""

from collections.abc import Iterable, Mapping

from oncelog.client.cluster import Cluster
from oncelog.client.faults import ClientFault
from oncelog.client.unfinished import Decision, decisions
from oncelog.inspect import ask
from oncelog.model import Producer, TopicPartition

Open = tuple[TopicPartition, Producer]


def decided(cluster: Cluster, opened: Iterable[Open]) -> Mapping[Open, Decision]:
    """Of these those whose decision the transaction log proves; the coordinator must still know the id."""
    wanted = sorted(opened)
    if not wanted:
        return {}
    known: list[Decision] = []
    for listed in ask.list_transactions(
        cluster, producer_ids=sorted({int(producer.id) for _, producer in wanted})
    ):
        known += reversed(decisions(cluster, listed.transactional_id))
    found = {each: next((one for one in known if one.covers(*each)), None) for each in wanted}
    return {each: one for each, one in found.items() if one is not None}


def decided_or_unknown(cluster: Cluster, opened: Iterable[Open]) -> Mapping[Open, Decision]:
    """The same for who only looks: a log that cannot be read proves nothing."""
    try:
        return decided(cluster, opened)
    except ClientFault:
        return {}
