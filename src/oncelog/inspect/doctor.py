"""Looks a cluster over for what goes wrong with transactions, and says why each finding matters."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from oncelog.client.admin import Admin, Setting
from oncelog.client.cluster import Cluster
from oncelog.client.faults import ClientFault
from oncelog.inspect import ask, views
from oncelog.inspect.ask import Described, SideDoor
from oncelog.model import TRANSACTION_STATE

FINE: Final = "fine"
NOTICE: Final = "notice"
BAD: Final = "bad"
SKIPPED: Final = "skipped"
LONG_TIMEOUT_MS: Final = 300_000
FEW_RECORDS: Final = 5
MANY_SIBLINGS: Final = 20
DAY_MS: Final = 86_400_000

# What a name has in the middle of it when a process makes it up: a UUID, a long hex or number, a process id and a time.
RANDOM: Final = re.compile(
    r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|[0-9a-f]{12,}|\d{9,}", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at. `why` says what happens to who ignores it."""

    check: str
    verdict: str  # "fine", "notice", "bad", "skipped"
    found: str
    why: str
    do: str


def examine(cluster: Cluster, *, now_ms: int) -> list[Finding]:
    """All checks, in a fixed order. A check that this broker cannot answer is skipped with the reason."""
    door = SideDoor(cluster)
    node_id = next(iter(cluster.nodes()))
    settings = {each.name: each for each in Admin(cluster).broker_settings(node_id)}
    listed = ask.list_transactions(cluster)
    described = ask.describe_listed(cluster, listed)
    checks = (
        ("stuck readers", lambda: _stuck(cluster, door, now_ms)),
        ("transactional ids", lambda: _names(sorted(described))),
        ("transaction timeouts", lambda: _timeouts(described.values(), settings)),
        ("size of transactions", lambda: _sizes(door)),
        ("tombstones of the state log", lambda: _tombstones(cluster)),
        ("groups on transactional topics", lambda: _readers(cluster, described.values())),
        ("old-protocol clients", lambda: _protocols(door)),
    )
    found: list[Finding] = []
    for name, check in checks:
        try:
            found.append(check())
        except ClientFault as fault:
            found.append(Finding(name, SKIPPED, str(fault), "", ""))
    return found


def _stuck(cluster: Cluster, door: SideDoor, now_ms: int) -> Finding:
    pins = views.pins(cluster, door, now_ms=now_ms)
    why = "readers at read_committed see nothing behind the last stable offset"
    if not pins:
        return Finding("stuck readers", FINE, "no partition is held", why, "")
    verdict = BAD if any(each.kind == "hanging" for each in pins) else NOTICE
    names = ", ".join(f"{each.topic}-{each.partition} ({each.kind})" for each in pins[:5])
    return Finding("stuck readers", verdict, f"{len(pins)} held: {names}", why, "oncelog txn stuck")


def _names(ids: Sequence[str]) -> Finding:
    why = (
        "an id that is new with every process fences nobody: a zombie of the old process goes on writing, its open "
        "transaction holds readers until the timeout, and ids pile up for transactional.id.expiration.ms"
    )
    stems = Counter(RANDOM.sub("*", each) for each in ids if RANDOM.search(each))
    piled = [(stem, count) for stem, count in stems.most_common() if count >= 2]
    if not piled:
        return Finding("transactional ids", FINE, f"{len(ids)} ids, none looks random", why, "")
    verdict = BAD if any(count >= MANY_SIBLINGS for _, count in piled) else NOTICE
    shown = ", ".join(f"{stem} x {count}" for stem, count in piled[:5])
    do = "name the id after what is processed (the job and its input partition), the same after a restart"
    return Finding("transactional ids", verdict, shown, why, do)


def _timeouts(described: Iterable[Described], settings: Mapping[str, Setting]) -> Finding:
    rows = list(described)
    limit = settings.get("transaction.max.timeout.ms")
    maximum = int(limit.value) if limit is not None and limit.value and limit.value.isdecimal() else None
    why = "a transaction left open by a crash holds all readers of its partitions for this long"
    long = [each for each in rows if LONG_TIMEOUT_MS < each.timeout_ms < views.NEVER_TIMES_OUT_MS]
    above = [
        each for each in rows if maximum is not None and maximum < each.timeout_ms < views.NEVER_TIMES_OUT_MS
    ]
    forever = [
        each for each in rows if each.timeout_ms >= views.NEVER_TIMES_OUT_MS and each.state == views.ONGOING
    ]
    do = "set transaction.timeout.ms a little above the longest transaction; 60 s is the default"
    if above:
        shown = ", ".join(f"{each.transactional_id} {each.timeout_ms} ms" for each in above[:5])
        return Finding("transaction timeouts", BAD, f"above the maximum of {maximum} ms: {shown}", why, do)
    if forever:
        shown = ", ".join(each.transactional_id for each in forever[:5])
        return Finding("transaction timeouts", NOTICE, f"prepared, never time out: {shown}", why, "end them")
    if long:
        shown = ", ".join(f"{each.transactional_id} {each.timeout_ms} ms" for each in long[:5])
        return Finding("transaction timeouts", NOTICE, f"above {LONG_TIMEOUT_MS} ms: {shown}", why, do)
    return Finding(
        "transaction timeouts",
        FINE,
        f"{len(rows)} ids, the longest {max((each.timeout_ms for each in rows), default=0)} ms",
        why,
        "",
    )


def _sizes(door: SideDoor) -> Finding:
    why = "each transaction costs a few requests, state records and one marker a partition: with few records they dominate"
    counters = door.counters()
    if counters is None:
        return Finding("size of transactions", SKIPPED, "needs oncelog broker", why, "")
    ended = counters.get("txn.completed", 0) or sum(
        value
        for name, value in counters.items()
        if name.startswith("txn.complete") and name.endswith("count")
    )
    records = counters.get("produce.transactional_records", 0)
    if not ended or not records:
        return Finding("size of transactions", SKIPPED, "no transaction was counted yet", why, "")
    mean = records / ended
    verdict = NOTICE if mean < FEW_RECORDS else FINE
    return Finding(
        "size of transactions", verdict, f"{mean:.1f} records on average", why, "commit less often"
    )


def _tombstones(cluster: Cluster) -> Finding:
    why = (
        "a tombstone that is cleaned before every copy of the log was compacted lets an expired id come back"
    )
    settings = {each.name: each.value for each in Admin(cluster).topic_settings(TRANSACTION_STATE)}
    kept = settings.get("delete.retention.ms")
    if kept is None or not kept.isdecimal():
        return Finding("tombstones of the state log", SKIPPED, "delete.retention.ms is not told", why, "")
    verdict = NOTICE if int(kept) < DAY_MS else FINE
    do = "leave delete.retention.ms of __transaction_state at a day or more"
    return Finding(
        "tombstones of the state log",
        verdict,
        f"delete.retention.ms is {kept}",
        why,
        do if verdict != FINE else "",
    )


def _readers(cluster: Cluster, described: Iterable[Described]) -> Finding:
    """Which groups read topics that transactions write. What isolation they use, only they know."""
    why = "at read_uncommitted a reader sees aborted records; no broker knows which isolation a group uses"
    topics = {each.topic for row in described for each in row.partitions}
    admin = Admin(cluster)
    found: set[str] = set()
    for listing in admin.list_groups():
        try:
            offsets = admin.group_offsets(listing.group)
        except ClientFault:
            continue
        if any(each.topic in topics for each in offsets):
            found.add(listing.group)
    if not found:
        return Finding(
            "groups on transactional topics", FINE, "none reads a partition of an open transaction", why, ""
        )
    return Finding(
        "groups on transactional topics",
        NOTICE,
        ", ".join(sorted(found)[:10]),
        why,
        "check that isolation.level=read_committed is set in each (librdkafka's default, not Java's)",
    )


def _protocols(door: SideDoor) -> Finding:
    why = "with the protocol before KIP-890 a late copy of EndTxn can end the next transaction (KAFKA-17754)"
    counters = door.counters()
    if counters is None:
        return Finding("old-protocol clients", SKIPPED, "needs oncelog broker", why, "")
    refused = counters.get("txn.late_copies_refused", 0)
    old = counters.get("rpc.EndTxn.old_protocol", 0)
    text = f"{old} EndTxn below version 5, {refused} late copies refused"
    return Finding(
        "old-protocol clients",
        NOTICE if refused else FINE,
        text,
        why,
        "oncelog refuses such copies; update clients where one can",
    )
