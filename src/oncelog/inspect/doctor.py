"""Looks a cluster over for what goes wrong with transactions, and says why each finding matters."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from oncelog.client.admin import MAX_TIMESTAMP, Admin, Setting
from oncelog.client.cluster import Cluster
from oncelog.client.faults import ClientFault
from oncelog.inspect import ask, replay, trace, views
from oncelog.inspect.ask import Described, SideDoor
from oncelog.inspect.counted import quantile_ns
from oncelog.model import CONSUMER_OFFSETS, TRANSACTION_STATE, TopicPartition
from oncelog.protocol.messages.describe_log_dirs import DescribeLogDirsRequest, DescribeLogDirsResponse

FINE: Final = "fine"
NOTICE: Final = "notice"
BAD: Final = "bad"
SKIPPED: Final = "skipped"
LONG_TIMEOUT_MS: Final = 300_000
FEW_RECORDS: Final = 5
FEW_TRANSACTIONS: Final = 3  # below this nothing is said of their size
TRACED_IDS: Final = 50  # whose requests are looked at
REPLAYED_IDS: Final = 5  # where only the logs tell
REPLAYED_EACH: Final = 3
FIRST_NEW_END_TXN: Final = 5
NEW_PROTOCOL: Final = 2
SLOW_SYNC_MS: Final = 200
HOUR_MS: Final = 3_600_000
LATE_COPIES: Final = "txn.late_copies_refused"
MANY_SIBLINGS: Final = 20
TIMED_PARTITIONS: Final = 500  # whose newest record is looked at
AHEAD_MS: Final = 5_000  # of this machine's clock: more than a question and its answer take
DAY_MS: Final = 86_400_000

# What a name has in the middle of it when a process makes it up: a UUID, a long hex or number, a process id and a time.
RANDOM: Final = re.compile(
    r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|[0-9a-f]{12,}|\d{9,}", re.IGNORECASE
)


PART: Final = re.compile(r"[^-_.:/@ ]+")  # of a name
FEW_SIBLINGS: Final = 3
SHORTEST_MIXED: Final = 5
WIDE_GAPS: Final = 10  # a number a row of so many


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
    seen = _seen(cluster, door, [each.transactional_id for each in listed if each.state != "Empty"])
    checks = (
        ("stuck readers", lambda: _stuck(cluster, door, now_ms)),
        ("transactional ids", lambda: _names(cluster, sorted(described))),
        ("transaction timeouts", lambda: _timeouts(cluster, door, described.values(), settings)),
        ("size of transactions", lambda: _sizes(seen)),
        ("tombstones", lambda: _tombstones(cluster)),
        ("isolation of groups", lambda: _readers(cluster, door)),
        ("old-protocol clients", lambda: _protocols(seen, door)),
        ("clocks", lambda: _clocks(cluster, described.values(), now_ms)),
        ("disk", lambda: _disk(cluster, door)),
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


def _names(cluster: Cluster, ids: Sequence[str]) -> Finding:
    why = (
        "an id that is new with every process fences nobody: a zombie of the old process goes on writing, its open "
        "transaction holds readers until the timeout, and ids pile up for transactional.id.expiration.ms"
    )
    stems = Counter(RANDOM.sub("*", each) for each in ids if RANDOM.search(each))
    piled = [(stem, count) for stem, count in stems.most_common() if count >= 2]
    shown = [f"{stem} x {count}" for stem, count in piled]
    for stem, mine in made_up(each for each in ids if not RANDOM.search(each)).items():
        if not _was_taken_again(cluster, mine):
            shown.append(f"{stem} x {len(mine)}, none of them used by a second process")
    if not shown:
        return Finding("transactional ids", FINE, f"{len(ids)} ids, none looks random", why, "")
    verdict = BAD if any(count >= MANY_SIBLINGS for _, count in piled) else NOTICE
    do = "name the id after what is processed (the job and its input partition), the same after a restart"
    return Finding("transactional ids", verdict, ", ".join(shown[:5]), why, do)


def made_up(ids: Iterable[str]) -> dict[str, list[str]]:
    """Stem -> ids that differ in a part that a machine made up: letters and digits mixed, as in names of pods, or numbers that
    leave wide gaps, as process ids do. Numbers that follow each other are partitions or tasks.
    """
    stems: dict[str, list[str]] = {}
    for each in ids:
        stem = PART.sub(lambda part: "*" if _is_mixed(part[0]) or part[0].isdecimal() else part[0], each)
        if stem != each:
            stems.setdefault(stem, []).append(each)
    return {stem: mine for stem, mine in stems.items() if len(mine) >= FEW_SIBLINGS and _looks_made_up(mine)}


def _is_mixed(part: str) -> bool:
    """3f9a1c2e, x2x8k: but not v2, kafka2 or 10ms."""
    changes = sum(one.isdecimal() != next_one.isdecimal() for one, next_one in pairwise(part))
    return len(part) >= SHORTEST_MIXED and part.isalnum() and changes >= 2


def _looks_made_up(ids: Sequence[str]) -> bool:
    parts = list(zip(*(PART.findall(each) for each in ids), strict=True))
    for column in parts:
        differing = sorted(set(column))
        if len(differing) < FEW_SIBLINGS:
            continue
        if all(each.isdecimal() for each in differing):
            numbers = sorted(int(each) for each in differing)
            if numbers[-1] - numbers[0] >= WIDE_GAPS * len(numbers):
                return True
        elif any(_is_mixed(each) for each in differing):
            return True
    return False


def _was_taken_again(cluster: Cluster, ids: Sequence[str]) -> bool:
    """Whether a second process took one of some of them: each that comes up leaves a state Empty, and bumps the epoch."""
    for each in ids[-REPLAYED_IDS:]:
        past = trace.past_of(cluster, each)
        taken = sum(one.state == "Empty" for one in past.states)
        first = next((one for one in past.states if one.state is not None), None)
        is_later = first is not None and first.client_version < NEW_PROTOCOL and first.producer_epoch > 0
        if taken > 1 or is_later or sum(one.cause == ask.NEW_INSTANCE for one in past.bumps) > 1:
            return True
    return False


def _timeouts(
    cluster: Cluster, door: SideDoor, described: Iterable[Described], settings: Mapping[str, Setting]
) -> Finding:
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
    again = _timed_out_again(cluster, [each.transactional_id for each in rows]) if door.is_there else []
    if above:
        shown = ", ".join(f"{each.transactional_id} {each.timeout_ms} ms" for each in above[:5])
        return Finding("transaction timeouts", BAD, f"above the maximum of {maximum} ms: {shown}", why, do)
    if again:
        shown = ", ".join(f"{name} x {count}" for name, count in again[:5])
        short = (
            "a transaction that is longer than its timeout is aborted while its owner works, and done again"
        )
        return Finding("transaction timeouts", NOTICE, f"timed out again and again: {shown}", short, do)
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


def _timed_out_again(cluster: Cluster, ids: Sequence[str]) -> list[tuple[str, int]]:
    """Ids that lost more than one transaction to their timeout, as far as the state log tells; only oncelog keeps causes."""
    pasts = ((each, trace.past_of(cluster, each).bumps) for each in ids[:TRACED_IDS])
    counts = [(name, sum(each.cause == "timeout" for each in bumps)) for name, bumps in pasts]
    return sorted((each for each in counts if each[1] > 1), key=lambda each: -each[1])


@dataclass(frozen=True, slots=True)
class Seen:
    """What some transactional ids did lately, from the broker's ring or from the logs."""

    ids: int
    transactions: int
    records: int
    small: tuple[
        tuple[str, int, int], ...
    ]  # ids whose own transactions have few records: name, transactions, records
    old: tuple[str, ...]  # who ended a transaction by the protocol before KIP-890


def _seen(cluster: Cluster, door: SideDoor, names: Sequence[str]) -> Seen:
    """Of at most so many ids as can be asked in a moment."""
    counted: list[tuple[str, int, int]] = []
    old: dict[str, None] = {}
    software = door.software()
    for name in names[: TRACED_IDS if door.is_there else REPLAYED_IDS]:
        kept = [event for _, event in trace.requests(cluster, door, name) or ()]
        ended = [each for each in kept if each.name == "EndTxn" and each.error == "NONE"]
        if ended:
            last = max(each.at_us for each in ended)
            transactions = len(ended)
            written = [each for each in kept if each.name == "Produce" and each.at_us <= last]
            old |= {
                _by_whom(each.client_id, each.address, software, f"EndTxn v{each.version}"): None
                for each in ended
                if (each.version or 0) < FIRST_NEW_END_TXN
            }
        else:
            past = [
                each
                for each in replay.transactions(name, replay.history(cluster, name))
                if each.ended_ms is not None
            ][-REPLAYED_EACH:]
            transactions = len(past)
            written = [one for each in past for one in replay.events(cluster, each) if one.name == "Produce"]
            if past and past[-1].states[-1].client_version < NEW_PROTOCOL:
                by = (door.causes([name]) or {}).get(name)
                what = None if by is None else software.get((by.client_id, by.host))
                old[f"the client of {name}" + ("" if what is None else f" ({what})")] = None
        records = sum(one.count or 0 for each in written if each.error == "NONE" for one in each.touched)
        counted.append((name, transactions, records))
    return Seen(
        len(counted),
        sum(transactions for _, transactions, _ in counted),
        sum(records for _, _, records in counted),
        tuple(each for each in counted if each[1] >= FEW_TRANSACTIONS and each[2] < FEW_RECORDS * each[1]),
        tuple(old),
    )


def _by_whom(
    client_id: str | None, address: str | None, software: Mapping[tuple[str | None, str], str], asked: str
) -> str:
    host = ask.host_of(address)
    what = software.get((client_id, host))
    return f"{client_id or '?'} at {host} ({asked if what is None else f'{what}, {asked}'})"


def _sizes(seen: Seen) -> Finding:
    why = "each transaction costs a few requests, state records and one marker a partition: with few records they dominate"
    if seen.transactions < FEW_TRANSACTIONS:
        return Finding(
            "size of transactions", FINE, f"{seen.transactions} seen lately, too few to tell", why, ""
        )
    mean = seen.records / seen.transactions
    text = f"{mean:.1f} records on average in {seen.transactions} transactions of {seen.ids} ids"
    if seen.small:  # the mean of all hides those that are small beside others that are large
        worst = sorted(seen.small, key=lambda each: each[2] / each[1])[:5]
        text += "; " + ", ".join(f"{name} {records / count:.1f} in {count}" for name, count, records in worst)
    elif mean >= FEW_RECORDS:
        return Finding("size of transactions", FINE, text, why, "")
    return Finding("size of transactions", NOTICE, text, why, "commit less often: more records in each")


def _tombstones(cluster: Cluster) -> Finding:
    """Of the state log, the offsets of groups and every other compacted topic."""
    why = (
        "a reader, or a copy of the log, that is away for longer than delete.retention.ms never sees that a key was "
        "deleted: it keeps the old value, and an expired transactional id or offset comes back"
    )
    admin = Admin(cluster)
    short: list[str] = []
    looked_at = 0
    for topic in cluster.topics():
        if topic.is_internal and topic.name not in (TRANSACTION_STATE, CONSUMER_OFFSETS):
            continue
        settings = {each.name: each.value for each in admin.topic_settings(topic.name)}
        kept = settings.get("delete.retention.ms")
        if "compact" not in (settings.get("cleanup.policy") or "") or kept is None:
            continue
        looked_at += 1
        if kept.isdecimal() and int(kept) < (DAY_MS if topic.is_internal else HOUR_MS):
            short.append(f"{topic.name} {kept} ms")
    if not short:
        return Finding("tombstones", FINE, f"{looked_at} compacted topics keep theirs for long", why, "")
    do = "set delete.retention.ms above the longest time that a reader may be away; the default is a day"
    return Finding("tombstones", NOTICE, ", ".join(short[:5]), why, do)


def _readers(cluster: Cluster, door: SideDoor) -> Finding:
    """Groups that read what transactions wrote, at read_uncommitted. Only fetches tell their isolation, and only oncelog looks."""
    why = "at read_uncommitted a reader gets aborted records, and records of transactions that may still be aborted"
    uncommitted = door.uncommitted_readers()
    admin = Admin(cluster)
    on_transactions: list[str] = []
    found: list[str] = []
    known: dict[TopicPartition, bool] = {}
    for listing in admin.list_groups():
        try:
            offsets, members = admin.group_offsets(listing.group), admin.describe_group(listing.group).members
        except ClientFault:
            continue
        places = {*offsets, *(each for member in members for each in member.assignment)}
        if not any(_is_transactional(cluster, each, known) for each in sorted(places)):
            continue
        on_transactions.append(listing.group)
        found += [
            f"{listing.group} ({each.client_id} at {each.host.lstrip('/')})"
            for each in members
            if uncommitted is not None and (each.client_id, each.host.lstrip("/")) in uncommitted
        ]
    if found:
        do = "set isolation.level=read_committed in each (librdkafka's default, not that of Java's consumer)"
        return Finding("isolation of groups", NOTICE, ", ".join(found[:10]), why, do)
    if uncommitted is None and on_transactions:
        shown = f"needs oncelog broker; these read what transactions wrote: {', '.join(on_transactions[:10])}"
        return Finding("isolation of groups", SKIPPED, shown, why, "")
    shown = f"{len(on_transactions)} groups read what transactions wrote, none at read_uncommitted"
    return Finding("isolation of groups", FINE, shown, why, "")


def _is_transactional(cluster: Cluster, where: TopicPartition, known: dict[TopicPartition, bool]) -> bool:
    """Whether a transaction writes there, or did: then its coordinator's epoch stands beside the producer."""
    if where not in known:
        try:
            producers = ask.describe_producers(cluster, [where])[where]
            known[where] = any(each.start_offset >= 0 or each.coordinator_epoch >= 0 for each in producers)
        except ClientFault:
            cluster.forget(where.topic)
            known[where] = False
    return known[where]


def _protocols(seen: Seen, door: SideDoor) -> Finding:
    why = "with the protocol before KIP-890 a late copy of EndTxn can end the next transaction (KAFKA-17754)"
    refused = (door.counters() or {}).get(LATE_COPIES, 0)
    late = f", {refused} late copies refused" if refused else ""
    if not seen.old:
        return Finding(
            "old-protocol clients", NOTICE if refused else FINE, f"none of {seen.ids} ids{late}", why, ""
        )
    do = "update the clients; " + (
        "oncelog refuses late copies where it can tell them"
        if door.is_there
        else "until then keep request timeouts short"
    )
    return Finding("old-protocol clients", NOTICE, ", ".join(seen.old[:5]) + late, why, do)


def _clocks(cluster: Cluster, described: Iterable[Described], now_ms: int) -> Finding:
    """Nobody tells a broker's time; what carries a time that has not come yet tells of a clock that is ahead of ours."""
    why = (
        "timeouts run by the coordinator's clock, and retention and reads by time go by the clients': a record of tomorrow "
        "keeps its whole segment for a day longer"
    )
    starts = [(each.start_ms - now_ms, f"the coordinator of {each.transactional_id}") for each in described]
    wanted = [
        TopicPartition(topic.name, part.index) for topic in cluster.topics() for part in topic.partitions
    ][:TIMED_PARTITIONS]
    newest = Admin(cluster).offsets_at(dict.fromkeys(wanted, MAX_TIMESTAMP))
    records = [
        (view.timestamp - now_ms, f"who wrote offset {view.offset} of {where}")
        for where, view in sorted(newest.items())
    ]
    ahead = sorted((each for each in (*starts, *records) if each[0] > AHEAD_MS), reverse=True)
    if not ahead:
        return Finding("clocks", FINE, f"none of {len(wanted)} partitions has a time to come", why, "")
    shown = ", ".join(f"{who} is {ms / 1000:.0f} s ahead" for ms, who in ahead[:5])
    return Finding(
        "clocks", NOTICE, f"{shown}, or this machine is behind", why, "synchronize the clocks (NTP)"
    )


def _disk(cluster: Cluster, door: SideDoor) -> Finding:
    why = "a full disk stops every write, and each commit waits for a sync"
    found: list[str] = []
    verdict = FINE
    for node_id in cluster.nodes():
        answer = cluster.node(node_id).send(DescribeLogDirsRequest(topics=[]), DescribeLogDirsResponse)
        for each in answer.results:
            if each.total_bytes > 0:
                share = each.usable_bytes / each.total_bytes
                verdict = max(verdict, disk_verdict(share), key=(FINE, NOTICE, BAD).index)
                found.append(f"broker {node_id}: {share:.0%} of the disk is free")
    sync = (door.times() or {}).get("log.sync")
    if sync is not None and sum(sync.counts):
        slow_ms = quantile_ns(sync, 0.99) / 1e6
        found.append(f"p99 of a sync {slow_ms:.1f} ms")
        verdict = NOTICE if verdict == FINE and slow_ms > SLOW_SYNC_MS else verdict
    if not found:
        return Finding("disk", SKIPPED, "not told by this broker", why, "")
    return Finding(
        "disk", verdict, ", ".join(found), why, "" if verdict == FINE else "make room, or move the data"
    )


def disk_verdict(free: float) -> str:
    """By the share of the disk that is free."""
    return BAD if free < 0.02 else NOTICE if free < 0.1 else FINE
