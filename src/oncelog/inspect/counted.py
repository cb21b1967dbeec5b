"""What an oncelog broker counts and times of itself, under the names of Prometheus: Kafka's where it has one, else our own.

Every counter that is used stands in a table here; tests/inspect/test_metrics.py shows that a broker really has each of them.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from oncelog.broker.counters import GAUGES
from oncelog.inspect.exposition import Family
from oncelog.protocol.messages.describe_oncelog import Times

NS: Final = 1e9
MS: Final = 1e6
BUCKETS: Final = range(13, 39, 2)  # of the powers of two: 8 microseconds to 137 seconds
QUANTILES: Final = (0.5, 0.95, 0.99, 0.999)

# What the page's first screen shows as a rate: label, and the counters whose sum it is.
RATES: Final[Mapping[str, tuple[str, ...]]] = {
    "commits": ("txn.committed.count",),
    "aborts": ("txn.aborted.count",),
    "fenced": ("txn.bumped.new_instance", "txn.bumped.timeout", "txn.bumped.admin"),
    "records in": ("log.records",),
    "bytes in": ("log.bytes",),
    "bytes out": ("fetch.bytes",),
}
# Name of the metric, counter of the broker, what it says.
JMX: Final = (
    ("kafka_server_brokertopicmetrics_messagesinpersec", "log.records", "Records appended"),
    ("kafka_server_brokertopicmetrics_bytesinpersec", "log.bytes", "Bytes appended"),
    ("kafka_server_brokertopicmetrics_bytesoutpersec", "fetch.bytes", "Bytes of records fetched"),
    (
        "kafka_server_brokertopicmetrics_totalproducerequestspersec",
        "rpc.Produce.count",
        "Produce requests",
    ),
    ("kafka_server_brokertopicmetrics_totalfetchrequestspersec", "rpc.Fetch.count", "Fetch requests"),
    (
        "kafka_server_transaction_coordinator_metrics_transaction_timeout_count",
        "txn.bumped.timeout",
        "Transactions aborted by their timeout",
    ),
    (
        "kafka_server_transaction_coordinator_metrics_transaction_state_error_count",
        "txn.refused.INVALID_TXN_STATE",
        "Requests that did not fit the state of their transaction",
    ),
    (
        "kafka_server_addpartitionstotxnmanager_verificationfailurerate",
        "txn.verification_failed",
        "Partitions that were not in the transaction they were written for (KIP-890)",
    ),
)
OWN: Final = (
    ("oncelog_duplicate_batches_total", "log.duplicates", "Batches sent again and not written again"),
    (
        "oncelog_out_of_order_total",
        "produce.refused.OUT_OF_ORDER_SEQUENCE_NUMBER",
        "Batches refused for a gap before them",
    ),
    (
        "oncelog_late_requests_total",
        "txn.late_copies_refused",
        "Late copies of requests refused (KAFKA-17754)",
    ),
    ("oncelog_markers_total", "txn.markers", "Markers written"),
    (
        "oncelog_aborted_bytes_total",
        "log.aborted_bytes",
        "Bytes of aborted transactions, as far as they were written since the start",
    ),
)
FENCED: Final = {each: f"txn.bumped.{each}" for each in ("new_instance", "timeout", "admin", "recovery")}
# What tells how things are now.
NOW: Final = (
    (
        "kafka_server_replicamanager_produceridcount",
        "log.producers",
        "Producers that partitions keep a sequence for",
    ),
)
# Kafka's VerificationTimeMs is how long a leader waits for the coordinator: here both are one process, and nobody waits.
VERIFIED: Final = (
    "kafka_server_addpartitionstotxnmanager_verificationtimems",
    "Milliseconds that a leader waits for the coordinator (KIP-890): it asks in its own process",
)
WAITS: Final = frozenset({"Fetch", "JoinGroup", "SyncGroup"})  # for records, or for other members
REFUSED: Final = {"Produce": "produce.refused.", "Fetch": "fetch.refused."}
# Name of the histogram, its label, the label's value, the broker's name of the times.
TIMES: Final[tuple[tuple[str, Mapping[str, str], str], ...]] = (
    ("oncelog_txn_seconds", {"outcome": "commit"}, "txn.committed"),
    ("oncelog_txn_seconds", {"outcome": "abort"}, "txn.aborted"),
    ("oncelog_txn_phase_seconds", {"phase": "prepare"}, "txn.phase.prepare"),
    ("oncelog_txn_phase_seconds", {"phase": "markers"}, "txn.phase.markers"),
    ("oncelog_txn_phase_seconds", {"phase": "complete"}, "txn.prepare_to_complete"),
    ("oncelog_fsync_seconds", {}, "log.sync"),
)
TEXTS: Final = {
    "oncelog_txn_seconds": "From a transaction's begin to its end",
    "oncelog_txn_phase_seconds": "Writing Prepare; from Prepare to the last marker; from Prepare to Complete",
    "oncelog_fsync_seconds": "Syncs of the log's files",
}
LOADED: Final = "txn.load"
ENDED: Final = "txn.prepare_to_complete"
# In the families above already, or as three numbers of a histogram.
TOLD: Final = frozenset(
    [name for _, name, _ in JMX]
    + [name for _, name, _ in OWN]
    + [name for _, name, _ in NOW]
    + [*FENCED.values(), "txn.ids", "log.partitions"]
)


def families(counters: Mapping[str, int], times: Mapping[str, Times]) -> Iterable[Family]:
    """All of it. A counter that has not counted yet is 0."""
    for name, counter, text in (*JMX, *OWN):
        family = Family(name, "counter", text)
        family.add(counters.get(counter, 0))
        yield family
    for name, counter, text in NOW:
        family = Family(name, "gauge", text)
        family.add(counters.get(counter, 0))
        yield family
    verified = Family(VERIFIED[0], "gauge", VERIFIED[1])
    verified.add(0)
    yield verified
    fenced = Family("oncelog_fenced_total", "counter", "Epochs bumped, by cause")
    for cause, counter in FENCED.items():
        fenced.add(counters.get(counter, 0), cause=cause)
    yield fenced
    yield from _requests(counters, times)
    yield from _histograms(times)
    yield from _coordinator(times)
    yield from _rest(counters, times)


def _requests(counters: Mapping[str, int], times: Mapping[str, Times]) -> Iterable[Family]:
    count = Family("kafka_network_requestmetrics_requestspersec", "counter", "Requests, by API")
    total = Family("kafka_network_requestmetrics_totaltimems", "gauge", "Milliseconds of a request, by API")
    local = Family(
        "kafka_network_requestmetrics_localtimems",
        "gauge",
        "The same where nothing is waited for: a request is never queued here",
    )
    errors = Family("kafka_network_requestmetrics_errorspersec", "counter", "Refusals, by API and error")
    for name, each in times.items():
        if not name.startswith("rpc."):
            continue
        api = name.removeprefix("rpc.")
        count.add(sum(each.counts), request=api)
        for quantile in QUANTILES:
            took_ms = quantile_ns(each, quantile) / MS
            total.add(took_ms, request=api, quantile=quantile)
            if api not in WAITS:
                local.add(took_ms, request=api, quantile=quantile)
        if api not in REFUSED and counters.get(f"{name}.errors"):
            errors.add(counters[f"{name}.errors"], request=api, error="any")
    for api, begin in REFUSED.items():
        for name, value in counters.items():
            if name.startswith(begin):
                errors.add(value, request=api, error=name.removeprefix(begin))
    yield from (count, total, local, errors)


def quantile_ns(times: Times, quantile: float) -> float:
    """An upper bound of it: the end of its bucket, or the longest of all."""
    wanted = quantile * sum(times.counts)
    below = 0
    for bucket, count in enumerate(times.counts):
        below += count
        if below and below >= wanted:
            return min(2.0**bucket, times.max_ns)
    return 0.0


def _histograms(times: Mapping[str, Times]) -> Iterable[Family]:
    made = {name: Family(name, "histogram", text) for name, text in TEXTS.items()}
    for name, labels, source in TIMES:
        if source in times:
            _add(made[name], times[source], labels)
    yield from made.values()
    rpcs = Family("oncelog_rpc_seconds", "histogram", "From the whole request to the whole answer, by API")
    for name, each in times.items():
        if name.startswith("rpc."):
            _add(rpcs, each, {"api": name.removeprefix("rpc.")})
    yield rpcs


def _add(family: Family, times: Times, labels: Mapping[str, str]) -> None:
    """Prometheus counts up to and including a bound, we below it: of nanoseconds that is the same."""
    for bucket in BUCKETS:
        family.add_part("_bucket", sum(times.counts[: bucket + 1]), **labels, le=repr(2**bucket / NS))
    family.add_part("_bucket", sum(times.counts), **labels, le="+Inf")
    family.add_part("_sum", times.sum_ns / NS, **labels)
    family.add_part("_count", sum(times.counts), **labels)


def _coordinator(times: Mapping[str, Times]) -> Iterable[Family]:
    base = "kafka_server_transaction_coordinator_metrics"
    for source, names in (
        (LOADED, (f"{base}_partition_load_time_max", f"{base}_partition_load_time_avg")),
        (ENDED, (None, f"{base}_prepare_commit_to_complete_commit_latency")),
    ):
        found = times.get(source)
        if found is None:
            continue
        longest, mean = names
        if longest is not None:
            family = Family(longest, "gauge", "Milliseconds, the longest")
            family.add(found.max_ns / MS)
            yield family
        family = Family(mean, "gauge", "Milliseconds, the mean")
        family.add(found.sum_ns / MS / max(sum(found.counts), 1))
        yield family


def _rest(counters: Mapping[str, int], times: Mapping[str, Times]) -> Iterable[Family]:
    """Every counter that has no better place, under its own name."""
    flat = tuple(f"{name}{end}" for name in times for end in (".count", ".ms_sum", ".ms_max"))
    for name, value in sorted(counters.items()):
        if name in TOLD or name in flat or name.startswith(tuple(REFUSED.values())):
            continue
        clean = "".join(each if each.isalnum() else "_" for each in name)
        gauge = name in GAUGES
        family = Family(
            f"oncelog_{clean}" if gauge else f"oncelog_{clean}_total",
            "gauge" if gauge else "counter",
            f"The broker's {name}",
        )
        family.add(value)
        yield family
