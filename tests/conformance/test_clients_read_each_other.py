"""Every client reads what every other client wrote, in every codec: batches go through as they came."""

from contextlib import ExitStack

import pytest

from tests.conformance.client import Client, by_partition, expected, numbered
from tests.conformance.kinds import KINDS
from tests.toolchains import Missing

PARTITIONS = 3
PER_CODEC = 6


@pytest.mark.timeout(180)
def test_every_client_reads_what_every_other_wrote(bootstrap: str) -> None:
    topic = "babel"
    sent: list[tuple[int, str, str]] = []
    left_out: list[str] = []
    with ExitStack() as stack:
        clients: list[Client] = []
        for kind in KINDS:
            try:
                clients.append(stack.enter_context(Client(kind, bootstrap)))
            except Missing as why:
                left_out.append(f"{kind.name} ({why})")
        clients[0].ask("create", topic=topic, partitions=PARTITIONS)
        for client in clients:
            for codec in client.kind.codecs:
                records = numbered(len(sent), PER_CODEC)
                client.ask("produce", topic=topic, partitions=PARTITIONS, codec=codec, records=records)
                sent += records
        wanted = expected(sent, PARTITIONS)
        answers = [client.begin("read", topic=topic, count=len(sent)) for client in clients]
        for client, answer in zip(clients, answers, strict=True):
            assert by_partition(answer(), PARTITIONS) == wanted, client.kind.name
    if left_out:
        pytest.skip(f"left out: {', '.join(left_out)}; the others read each other")
