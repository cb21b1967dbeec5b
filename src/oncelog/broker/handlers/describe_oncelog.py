"""DescribeOncelog (key 1000), v0-v3. Our own side door, not listed in ApiVersions.

v1  times in full: bucket n of `counts` holds those below 2**n nanoseconds that are in no bucket before
v2  clients that fetched at read_uncommitted since the start
v3  which software clients are, and of what version, as they said in ApiVersions

Why the epoch of each named transactional id was last bumped, by whom and when; and all counters and times of the broker.
Kafka keeps neither. Causes are kept in the log beside the state (docs/decisions/0016): a restart loses none.
"""

from typing import Final

from oncelog.broker.context import Context
from oncelog.broker.counters import flat
from oncelog.broker.runtime import Runtime
from oncelog.protocol.messages.describe_oncelog import (
    ClientSoftware,
    Counter,
    DescribeOncelogRequest,
    DescribeOncelogResponse,
    EpochBump,
    Times,
    UncommittedReader,
)

KEY: Final = 1000
VERSIONS: Final = (0, 3)


async def handle(request: DescribeOncelogRequest, _: Context, broker: Runtime) -> DescribeOncelogResponse:
    bumps: list[EpochBump] = []
    for transactional_id in request.transactional_ids:
        bump = broker.transactions.bump_of(transactional_id)
        if bump is not None:
            bumps.append(
                EpochBump(
                    transactional_id=transactional_id,
                    producer_epoch=bump.producer.epoch,
                    cause=bump.cause,
                    at_ms=bump.at_ms,
                    client_id=None if bump.by is None else bump.by.client_id,
                    client_host=None if bump.by is None else bump.by.host,
                    client_port=-1 if bump.by is None else bump.by.port,
                )
            )
    found = broker.figures()
    counts = {**found.counts, **flat(found.times)}
    return DescribeOncelogResponse(
        bumps=bumps,
        counters=[Counter(name=name, value=value) for name, value in sorted(counts.items())],
        times=[
            Times(name=name, sum_ns=each.sum_ns, max_ns=each.max_ns, counts=each.counts)
            for name, each in sorted(found.times.items())
        ],
        uncommitted_readers=[
            UncommittedReader(client_id=client_id, client_host=host)
            for client_id, host in broker.uncommitted_readers.all()
        ],
        clients=[
            ClientSoftware(
                client_id=client_id, client_host=host, software_name=name, software_version=version
            )
            for client_id, host, name, version in broker.client_software.all()
        ],
    )
