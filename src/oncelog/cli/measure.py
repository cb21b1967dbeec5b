"""The button of the page's Cost screen: a few seconds of load on a broker that is thrown away afterwards."""

from collections.abc import Mapping, Sequence
from typing import Final

from oncelog.client.admin import Admin
from oncelog.client.cluster import Cluster
from oncelog.cost import load
from oncelog.cost.sides import OncelogSide

SECONDS: Final = 0.5
RECORDS: Final = 10
RECORD_BYTES: Final = 1024


def quick() -> Sequence[Mapping[str, str]]:
    """Transactions of ten records beside the same batches without transactions. CannotMeasure says what is missing."""
    side = OncelogSide()
    side.start()
    try:
        with Cluster(side.bootstrap) as cluster:
            Admin(cluster).create_topic("quick", partitions=4)
        rows: list[dict[str, str]] = []
        for producers in (1, 10):
            found = load.transactions(
                side.bootstrap,
                "quick",
                partitions=4,
                producers=producers,
                records=RECORDS,
                record_bytes=RECORD_BYTES,
                seconds=SECONDS,
            )
            rows.append(
                {
                    "figure": f"transactions of {RECORDS} records, {producers} producer{'s' if producers > 1 else ''}",
                    "a second": f"{found.done / found.seconds:,.0f}",
                    "records a second": f"{found.records / found.seconds:,.0f}",
                    "p50": f"{found.latency_us['p50'] / 1000:.2f} ms",
                    "p99": f"{found.latency_us['p99'] / 1000:.2f} ms",
                }
            )
        plain = load.produce(
            side.bootstrap,
            "quick",
            partitions=4,
            inflight=1,
            record_bytes=RECORD_BYTES,
            batch_bytes=RECORDS * RECORD_BYTES,
            seconds=SECONDS,
        )
        rows.append(
            {
                "figure": "the same batches without transactions, idempotent, 1 producer",
                "a second": f"{plain.done / plain.seconds:,.0f}",
                "records a second": f"{plain.records / plain.seconds:,.0f}",
                "p50": f"{plain.latency_us['p50'] / 1000:.2f} ms" if plain.latency_us else "",
                "p99": f"{plain.latency_us['p99'] / 1000:.2f} ms" if plain.latency_us else "",
            }
        )
        return rows
    finally:
        side.stop()
