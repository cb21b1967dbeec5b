"""Looks a cluster over for what goes wrong with transactions, and says why each finding matters."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Final

from oncelog.client import state_log
from oncelog.client.admin import MAX_TIMESTAMP, Admin
from oncelog.client.cluster import Away, Cluster
from oncelog.client.faults import ClientFault, RefusedByBroker, error_name
from oncelog.errors import OncelogError
from oncelog.inspect import ask, replay, trace, views
from oncelog.inspect.ask import Described, Listed, SideDoor
from oncelog.inspect.counted import quantile_ns
from oncelog.inspect.events import INIT_PRODUCER_ID, Event, traced_events
from oncelog.inspect.lengths import age
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
ASKED_IDS: Final = (
    1_000  # whose first request is: a broker's ring holds no more ids than that unless it is told to
)
NEWEST_STATES: Final = 1_000  # of each partition of the state log, to know which ids did something lately
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


class _Untold(ClientFault):
    """What a check needs is in the state log, and we may not read it."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at. `why` says what happens to who ignores it."""

    check: str
    verdict: str  # "fine", "notice", "bad", "skipped"
    found: str
    why: str
    do: str


def examine(cluster: Cluster, door: SideDoor, *, now_ms: int) -> list[Finding]:
    """All checks, in a fixed order. A check that this broker cannot answer, or not to us, is skipped with the reason; who cannot be
    reached at all is a fault.
    """
    cluster.nodes()

    @cache
    def told() -> tuple[list[Listed], tuple[Away, ...]]:
        return ask.transactions_told(cluster)

    def listed() -> list[Listed]:
        return told()[0]

    @cache
    def described() -> dict[str, Described]:
        return ask.describe_listed(cluster, listed())

    @cache
    def seen() -> Seen:
        return _seen(cluster, door, [each.transactional_id for each in listed() if each.state != "Empty"])

    checks = (
        ("brokers", lambda: _brokers(cluster, told()[1])),
        ("stuck readers", lambda: _stuck(cluster, door, now_ms)),
        ("transactional ids", lambda: _names(cluster, [each.transactional_id for each in listed()])),
        ("transaction timeouts", lambda: _timeouts(cluster, door, described(), now_ms)),
        ("size of transactions", lambda: _sizes(seen())),
        ("tombstones", lambda: _tombstones(cluster)),
        ("isolation of groups", lambda: _readers(cluster, door)),
        ("old-protocol clients", lambda: _protocols(seen(), door)),
        ("clocks", lambda: _clocks(cluster, described().values(), now_ms)),
        ("disk", lambda: _disk(cluster, door)),
    )
    found: list[Finding] = []
    for name, check in checks:
        try:
            found.append(check())
        except ClientFault as fault:
            found.append(Finding(name, SKIPPED, str(fault), "", ""))
    return found


def _brokers(cluster: Cluster, away: Sequence[Away]) -> Finding:
    """All other checks are of what those tell that answer."""
    why = "what only a broker knows that is away (transactional ids, groups, its disk) is in no other check, and clients that need it wait"
    count = len(cluster.nodes())
    if away:
        shown = ", ".join(map(str, away))
        return Finding(
            "brokers", BAD, f"{len(away)} of {count} cannot be asked: {shown}", why, "bring them back"
        )
    if not ask.may_describe_all(cluster):
        unseen = "transactional ids that we may not describe are in no check; what they hold is not told"
        do = "ask as a user with DESCRIBE of all transactional ids"
        return Finding("brokers", NOTICE, f"{count} answer, and do not tell us of all ids", unseen, do)
    return Finding("brokers", FINE, f"all {count} answer", why, "")


def _stuck(cluster: Cluster, door: SideDoor, now_ms: int) -> Finding:
    found = views.survey(cluster, door, now_ms=now_ms)
    pins, untold = found.pins, found.untold_said
    why = "readers at read_committed see nothing behind the last stable offset"
    more = "" if untold is None else f"; {untold}"
    if not pins:
        verdict, do = (FINE, "") if untold is None else (NOTICE, "bring the brokers back that led them")
        return Finding("stuck readers", verdict, f"no partition is held{more}", why, do)
    verdict = BAD if any(each.kind == "hanging" for each in pins) else NOTICE
    names = ", ".join(f"{each.topic}-{each.partition} ({each.kind})" for each in pins[:5])
    return Finding("stuck readers", verdict, f"{len(pins)} held: {names}{more}", why, "oncelog txn stuck")


def _names(cluster: Cluster, ids: Sequence[str]) -> Finding:
    why = (
        "an id that is new with every process fences nobody: a zombie of the old process goes on writing, its open "
        "transaction holds readers until the timeout, and ids pile up for transactional.id.expiration.ms"
    )
    stems = Counter(RANDOM.sub("*", each) for each in ids if RANDOM.search(each))
    piled = [(stem, count) for stem, count in stems.most_common() if count >= 2]
    shown = [f"{stem} x {count}" for stem, count in piled]
    untold = ""
    for stem, mine in made_up(each for each in ids if not RANDOM.search(each)).items():
        try:
            if not _was_taken_again(cluster, mine):
                shown.append(f"{stem} x {len(mine)}, none of them used by a second process")
        except _Untold as fault:
            untold = f"; whether second processes used some is not told ({fault})"
    if not shown:
        return Finding("transactional ids", FINE, f"{len(ids)} ids, none looks random{untold}", why, "")
    verdict = BAD if any(count >= MANY_SIBLINGS for _, count in piled) else NOTICE
    do = "name the id after what is processed (the job and its input partition), the same after a restart"
    return Finding("transactional ids", verdict, ", ".join(shown[:5]) + untold, why, do)


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
        past = _past_of(cluster, each)
        taken = sum(one.state == "Empty" for one in past.states)
        first = next((one for one in past.states if one.state is not None), None)
        is_later = first is not None and first.client_version < NEW_PROTOCOL and first.producer_epoch > 0
        if taken > 1 or is_later or sum(one.cause == ask.NEW_INSTANCE for one in past.bumps) > 1:
            return True
    return False


def _past_of(cluster: Cluster, transactional_id: str) -> replay.Past:
    found = trace.past_of(cluster, transactional_id)
    if found.untold is not None:
        raise _Untold(f"{TRANSACTION_STATE}: {found.untold}")
    return found


def _timeouts(cluster: Cluster, door: SideDoor, described: Mapping[str, Described], now_ms: int) -> Finding:
    name, rows = "transaction timeouts", list(described.values())
    maximum, untold = _maximum(cluster)
    why = "a transaction left open by a crash holds all readers of its partitions for this long"
    long = [each for each in rows if LONG_TIMEOUT_MS < each.timeout_ms < views.NEVER_TIMES_OUT_MS]
    above = [
        each for each in rows if maximum is not None and maximum < each.timeout_ms < views.NEVER_TIMES_OUT_MS
    ]
    forever = [
        each for each in rows if each.timeout_ms >= views.NEVER_TIMES_OUT_MS and each.state == views.ONGOING
    ]
    do = "set transaction.timeout.ms a little above the longest transaction; 60 s is the default"
    turned_away = _turned_away(door, sorted(described), now_ms) if door.is_there else []
    looked_at = recent(cluster, sorted(described), TRACED_IDS) if door.is_there else []
    sample = _sample(len(looked_at), len(rows)) if door.is_there else ""
    again = _timed_out_again(cluster, looked_at)
    if turned_away:
        refused = "the broker refuses a timeout above its maximum: such a client cannot begin at all"
        return Finding(name, BAD, f"refused: {', '.join(turned_away[:5])}", refused, do)
    if above:
        shown = ", ".join(f"{each.transactional_id} {each.timeout_ms} ms" for each in above[:5])
        return Finding(name, BAD, f"above the maximum of {maximum} ms: {shown}", why, do)
    if again:
        shown = ", ".join(f"{each} x {count}" for each, count in again[:5])
        short = (
            "a transaction that is longer than its timeout is aborted while its owner works, and done again"
        )
        return Finding(name, NOTICE, f"timed out again and again: {shown}{sample}", short, do)
    if forever:
        shown = ", ".join(each.transactional_id for each in forever[:5])
        return Finding(name, NOTICE, f"prepared, never time out: {shown}", why, "end them")
    if long:
        shown = ", ".join(f"{each.transactional_id} {each.timeout_ms} ms" for each in long[:5])
        return Finding(name, NOTICE, f"above {LONG_TIMEOUT_MS} ms: {shown}{untold}", why, do)
    longest = max((each.timeout_ms for each in rows), default=0)
    return Finding(name, FINE, f"{len(rows)} ids, the longest {longest} ms{sample}{untold}", why, "")


def _maximum(cluster: Cluster) -> tuple[int | None, str]:
    """transaction.max.timeout.ms, or why it is not known."""
    try:
        settings = Admin(cluster).settings_of_some_broker()
    except RefusedByBroker as fault:
        return None, f"; the broker's maximum is not told ({error_name(fault.error)})"
    found = next((each.value for each in settings if each.name == "transaction.max.timeout.ms"), None)
    return (int(found), "") if found and found.isdecimal() else (None, "; the broker's maximum is not told")


def _turned_away(door: SideDoor, ids: Sequence[str], now_ms: int) -> list[str]:
    """Ids whose last InitProducerId was refused for its timeout, as the broker's ring has it: by whom and when. Who was never let in
    is listed by no coordinator, and known to the ring alone.
    """
    found: list[str] = []
    traced = door.traced_ids()
    ids = ids if traced is None else traced[::-1]  # who asked last first
    for each in ids[:ASKED_IDS]:
        last = _last_init(door, each)
        if last is not None and last.error == "INVALID_TRANSACTION_TIMEOUT":
            ago = age(max(now_ms - last.at_us // 1000, 0))
            found.append(f"{each} with {last.said}, {ago} ago by {last.client_id} at {last.address}")
    if found and len(ids) > ASKED_IDS:
        found[-1] += _sample(ASKED_IDS, len(ids))
    return found


def _last_init(door: SideDoor, transactional_id: str) -> Event | None:
    told = door.trace(transactional_id)
    key = INIT_PRODUCER_ID.to_bytes(2, "big")
    inits = [each for each in ([] if told is None else told.requests) if bytes(each.request[:2]) == key]
    return next(iter(traced_events(inits[-1], transactional_id)), None) if inits else None


def _timed_out_again(cluster: Cluster, ids: Sequence[str]) -> list[tuple[str, int]]:
    """Ids that lost more than one transaction to their timeout, as far as the state log tells; only oncelog keeps causes."""
    pasts = ((each, trace.past_of(cluster, each).bumps) for each in ids)
    counts = [(name, sum(each.cause == "timeout" for each in bumps)) for name, bumps in pasts]
    return sorted((each for each in counts if each[1] > 1), key=lambda each: -each[1])


def recent(cluster: Cluster, ids: Sequence[str], count: int) -> list[str]:
    """So many of them: first those that did something last, by the end of the state log; where nobody tells it, by name."""
    if len(ids) <= count:
        return list(ids)
    last: dict[str, int] = {}
    try:
        places = [
            TopicPartition(TRANSACTION_STATE, each.index)
            for each in cluster.known(TRANSACTION_STATE).partitions
        ]
        for where, ends in ask.ends_told(cluster, places)[0].items():
            begin = max(ends.log_start, ends.high_watermark - NEWEST_STATES)
            for name, record in state_log.all_records(cluster, where, begin, ends.high_watermark):
                if record.value is not None:
                    last[name] = record.timestamp
    except OncelogError:  # what was read so far is better than nothing
        pass
    wanted = set(ids)
    newest = sorted((each for each in last if each in wanted), key=lambda each: (-last[each], each))
    return [*newest, *(each for each in ids if each not in last)][:count]


def _sample(looked_at: int, of: int) -> str:
    """What is to be known where not all were looked at."""
    return "" if looked_at >= of else f"; {looked_at:,} of {of:,} ids looked at"


@dataclass(frozen=True, slots=True)
class Seen:
    """What some transactional ids did lately, from the broker's ring or from the logs."""

    ids: int
    of: int  # so many there are
    transactions: int
    records: int
    small: tuple[
        tuple[str, int, int], ...
    ]  # ids whose own transactions have few records: name, transactions, records
    old: tuple[str, ...]  # who ended a transaction by the protocol before KIP-890


def _seen(cluster: Cluster, door: SideDoor, names: Sequence[str]) -> Seen:
    """Of at most so many ids as can be asked in a moment: those that did something last."""
    counted: list[tuple[str, int, int]] = []
    old: dict[str, None] = {}
    software = door.software()
    for name in recent(cluster, names, TRACED_IDS if door.is_there else REPLAYED_IDS):
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
                for each in replay.transactions(name, _past_of(cluster, name).states)
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
        len(names),
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
    sample = _sample(seen.ids, seen.of)
    if seen.transactions < FEW_TRANSACTIONS:
        return Finding(
            "size of transactions", FINE, f"{seen.transactions} seen lately, too few to tell{sample}", why, ""
        )
    mean = seen.records / seen.transactions
    text = f"{mean:.1f} records on average in {seen.transactions} transactions of {seen.ids} ids{sample}"
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
    topics = {
        each.name: each.is_internal
        for each in cluster.topics()
        if not each.is_internal or each.name in (TRANSACTION_STATE, CONSUMER_OFFSETS)
    }
    policies = admin.values_of_topics("cleanup.policy", sorted(topics))
    kept = admin.values_of_topics("delete.retention.ms", sorted(topics))
    untold = len(topics) - len(policies)
    more = f"; {untold} topics do not tell us their settings" if untold else ""
    if topics and not policies:
        return Finding("tombstones", SKIPPED, more.removeprefix("; "), why, "")
    compacted = [each for each in sorted(kept) if "compact" in policies.get(each, "")]
    short = [
        f"{each} {kept[each]} ms"
        for each in compacted
        if kept[each].isdecimal() and int(kept[each]) < (DAY_MS if topics[each] else HOUR_MS)
    ]
    if not short:
        text = f"{len(compacted)} compacted topics keep theirs for long{more}"
        return Finding("tombstones", FINE, text, why, "")
    do = "set delete.retention.ms above the longest time that a reader may be away; the default is a day"
    return Finding("tombstones", NOTICE, ", ".join(short[:5]) + more, why, do)


def _readers(cluster: Cluster, door: SideDoor) -> Finding:
    """Groups that read what transactions wrote, at read_uncommitted. Only fetches tell their isolation, and only oncelog looks."""
    why = "at read_uncommitted a reader gets aborted records, and records of transactions that may still be aborted"
    uncommitted = door.uncommitted_readers()
    admin = Admin(cluster)
    on_transactions: list[str] = []
    found: list[str] = []
    known: dict[TopicPartition, bool] = {}
    for listing in admin.groups_told()[0]:
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
    late += _sample(seen.ids, seen.of)
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
    everywhere = [
        TopicPartition(topic.name, part.index) for topic in cluster.topics() for part in topic.partitions
    ]
    wanted = sorted(everywhere, key=lambda each: (each.partition, each.topic))[:TIMED_PARTITIONS]
    of = "" if len(wanted) == len(everywhere) else f" of {len(everywhere):,}"
    newest, untold = ask.offsets_told(cluster, wanted, MAX_TIMESTAMP)
    of = of or (f" of {len(everywhere):,}" if untold else "")
    records = [
        (view.timestamp - now_ms, f"who wrote offset {view.offset} of {where}")
        for where, view in sorted(newest.items())
    ]
    ahead = sorted((each for each in (*starts, *records) if each[0] > AHEAD_MS), reverse=True)
    if not ahead:
        return Finding("clocks", FINE, f"none of {len(newest)}{of} partitions has a time to come", why, "")
    shown = ", ".join(f"{who} is {ms / 1000:.0f} s ahead" for ms, who in ahead[:5])
    return Finding(
        "clocks", NOTICE, f"{shown}, or this machine is behind", why, "synchronize the clocks (NTP)"
    )


def _disk(cluster: Cluster, door: SideDoor) -> Finding:
    why = "a full disk stops every write, and each commit waits for a sync"
    found: list[str] = []
    verdict = FINE
    answers, away = cluster.ask_each(
        lambda whom: whom.send(DescribeLogDirsRequest(topics=[]), DescribeLogDirsResponse)
    )
    for node_id, answer in answers.items():
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
    found += [f"broker {each.node_id}: not asked" for each in away]
    return Finding(
        "disk", verdict, ", ".join(found), why, "" if verdict == FINE else "make room, or move the data"
    )


def disk_verdict(free: float) -> str:
    """By the share of the disk that is free."""
    return BAD if free < 0.02 else NOTICE if free < 0.1 else FINE
