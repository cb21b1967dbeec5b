"""What the inspector shows, as plain values: the command line prints them, the page draws them, JSON dumps them."""

import fnmatch
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from oncelog.client.admin import Admin
from oncelog.client.cluster import Away, Cluster
from oncelog.client.faults import ClientFault, RefusedByBroker, TimedOut, Unreachable, error_name
from oncelog.errors import ErrorCode
from oncelog.inspect import ask, strip, trace
from oncelog.inspect.ask import ActiveProducer, Cause, Described, Ends, Listed, SideDoor, Untold
from oncelog.inspect.commands import about, command
from oncelog.inspect.decided import decided_or_unknown
from oncelog.inspect.lag import COUNTED_OFFSETS
from oncelog.inspect.strip import Stretch
from oncelog.model import CONSUMER_OFFSETS, TRANSACTION_STATE, TopicPartition, coordinator_partition

ONGOING: Final = "Ongoing"
OPEN_STATES: Final = frozenset({ONGOING, "PrepareCommit", "PrepareAbort", "PrepareEpochFence"})
TRACED_OWNERS: Final = 50  # so many are asked for their last request
UNTOLD_NAMED: Final = 5
NEVER_TIMES_OUT_MS: Final = 2**31 - 1  # two-phase commit (KIP-939)


@dataclass(frozen=True, slots=True)
class TransactionRow:
    """One line of `oncelog txn ls`. Ages are None when no transaction is under way."""

    transactional_id: str
    state: str
    producer_id: int
    producer_epoch: int
    age_ms: int | None
    timeout_ms: int
    time_left_ms: int | None  # None too when it never times out
    partitions: int
    coordinator: int


@dataclass(frozen=True, slots=True)
class TouchedPartition:
    """A partition of a transaction under way, as its leader sees it."""

    topic: str
    partition: int
    start_offset: int | None  # None: nothing of this transaction is written there yet
    last_sequence: int | None
    records: int | None  # of this transaction; None: nothing yet, or too many to count
    bytes: int | None
    last_stable_offset: int
    high_watermark: int
    pins: bool  # this transaction is what holds the last stable offset there


@dataclass(frozen=True, slots=True)
class LastRequest:
    """The newest request of a transactional id that its broker keeps. `error` is "under way" while it is not answered."""

    name: str
    ago_ms: int
    error: str
    client_id: str | None
    address: str | None


@dataclass(frozen=True, slots=True)
class TransactionView:
    """`oncelog txn show`. What needs an oncelog broker is None elsewhere, and `from_oncelog` says so."""

    transactional_id: str
    state: str
    producer_id: int
    producer_epoch: int
    age_ms: int | None
    timeout_ms: int
    time_left_ms: int | None
    coordinator: str
    partitions: tuple[TouchedPartition, ...]
    from_oncelog: bool
    bump: Cause | None
    last_request: LastRequest | None
    untold: tuple[Untold, ...]  # partitions of it of which nobody tells, as without a leader


@dataclass(frozen=True, slots=True)
class Pin:
    """A partition whose readers at read_committed wait, and for whom."""

    topic: str
    partition: int
    last_stable_offset: int
    high_watermark: int
    hidden_offsets: int  # between the two: records of all producers, and markers
    hidden_records: int | None  # of those the records that are or may become visible; None: too many to count
    since_ms: (
        int | None
    )  # since 1970: when what holds it was written, by its batch's time; of an owner not before it began
    pinned_ms: int | None  # how long ago that was
    transactional_id: str | None
    producer_id: int | None
    producer_epoch: int | None
    state: str | None
    start_offset: int | None
    bytes: int | None  # of the transaction that holds it, in this partition; None: too many to count
    partitions: int | None  # of that transaction, this one too; None without an owner
    # "long": its owner may still end it; "ending": decided, markers are under way; "hanging": nobody will; "unknown": who holds
    # it is not told
    kind: str
    time_left_ms: int | None
    open_behind: int  # further open transactions in this partition
    groups: tuple[
        str, ...
    ]  # that read it and are not past its end; of __consumer_offsets, that ask for their offsets there
    client_id: str | None
    address: str | None
    software: str | None  # which library the client says it is, with its version
    last_request: LastRequest | None
    from_oncelog: bool
    frees: str  # the command that frees it; of "ending" and "unknown" why there is none

    @property
    def hidden(self) -> int:
        """What its readers wait for: records where they were counted, else offsets."""
        return self.hidden_offsets if self.hidden_records is None else self.hidden_records


@dataclass(frozen=True, slots=True)
class Survey:
    """What holds readers back, the partitions of which nobody told whether they are held, and the brokers that could not be asked
    for owners and groups.
    """

    pins: tuple[Pin, ...]
    untold: tuple[Untold, ...]
    away: tuple[Away, ...] = ()

    @property
    def untold_said(self) -> str | None:
        said = [each for each in (said_of(self.untold), away_said(self.away)) if each is not None]
        return "; ".join(said) or None


def away_said(away: Sequence[Away]) -> str | None:
    """Which brokers were not asked, and why."""
    return f"not asked: {', '.join(map(str, away))}" if away else None


def said_of(untold: Sequence[Untold]) -> str | None:
    """Of how many partitions nobody tells, and why, in a few words."""
    if not untold:
        return None
    named = ", ".join(f"{each.topic}-{each.partition}" for each in untold[:UNTOLD_NAMED])
    more = ", ..." if len(untold) > UNTOLD_NAMED else ""
    leaderless = sum(each.why == ask.NO_LEADER for each in untold)
    others = sorted({each.why for each in untold} - {ask.NO_LEADER})
    why = [f"{leaderless} without a leader"] if leaderless else []
    why += [f"{sum(one.why == each for one in untold)}: {each}" for each in others]
    return f"not told: {len(untold)} partition{'' if len(untold) == 1 else 's'} ({'; '.join(why)}): {named}{more}"


def rows(
    cluster: Cluster,
    *,
    now_ms: int,
    states: Sequence[str] = (),
    longer_than_ms: int = -1,
    match: str | None = None,
) -> tuple[list[TransactionRow], tuple[Away, ...]]:
    """All transactional ids that we are told of, and the brokers that could not be asked; `match` is a pattern with * and ?."""
    listed, away = ask.transactions_told(cluster, states=states, longer_than_ms=longer_than_ms)
    return described(cluster, matching(listed, match), now_ms), away


def matching(listed: Sequence[Listed], match: str | None) -> Sequence[Listed]:
    if match is None:
        return listed
    return [each for each in listed if fnmatch.fnmatchcase(each.transactional_id, match)]


def described(cluster: Cluster, listed: Sequence[Listed], now_ms: int) -> list[TransactionRow]:
    """Those that still exist."""
    found = ask.describe_listed(cluster, listed)
    return [
        row(each, found[each.transactional_id], now_ms) for each in listed if each.transactional_id in found
    ]


def row(listed: Listed, found: Described, now_ms: int) -> TransactionRow:
    return TransactionRow(
        transactional_id=found.transactional_id,
        state=found.state,
        producer_id=found.producer.id,
        producer_epoch=found.producer.epoch,
        age_ms=_age(found, now_ms),
        timeout_ms=found.timeout_ms,
        time_left_ms=_time_left(found, now_ms),
        partitions=len(found.partitions),
        coordinator=listed.node_id,
    )


def _age(found: Described, now_ms: int) -> int | None:
    if found.state not in OPEN_STATES or found.start_ms < 0:
        return None
    return max(now_ms - found.start_ms, 0)


def _time_left(found: Described, now_ms: int) -> int | None:
    age = _age(found, now_ms)
    if age is None or found.state != ONGOING or found.timeout_ms >= NEVER_TIMES_OUT_MS:
        return None
    return found.timeout_ms - age


def transaction(
    cluster: Cluster,
    door: SideDoor,
    transactional_id: str,
    *,
    now_ms: int,
    counted_offsets: int = COUNTED_OFFSETS,
) -> TransactionView | None:
    """One transactional id with its partitions; None if its coordinator does not know it.

    What it wrote is read to be counted where that is no more than `counted_offsets`."""
    found = ask.describe_transaction(cluster, transactional_id)
    if found is None:
        return None
    producers, untold = ask.producers_told(cluster, found.partitions)
    ends, more = ask.ends_told(cluster, producers)
    causes = door.causes([transactional_id])
    return TransactionView(
        transactional_id=transactional_id,
        state=found.state,
        producer_id=found.producer.id,
        producer_epoch=found.producer.epoch,
        age_ms=_age(found, now_ms),
        timeout_ms=found.timeout_ms,
        time_left_ms=_time_left(found, now_ms),
        coordinator=str(cluster.coordinator(transactional_id, 1).address),
        partitions=tuple(
            _touched(cluster, each, found, producers[each], ends[each], counted_offsets)
            for each in found.partitions
            if each in ends
        ),
        from_oncelog=causes is not None,
        bump=None if causes is None else causes.get(transactional_id),
        last_request=last_request(cluster, door, transactional_id, now_ms),
        untold=(*untold, *more),
    )


def last_request(cluster: Cluster, door: SideDoor, transactional_id: str, now_ms: int) -> LastRequest | None:
    """None: the broker keeps no requests, or none of this id."""
    kept = trace.requests(cluster, door, transactional_id)
    if not kept:
        return None
    _, last = kept[-1]
    ago_ms = max(now_ms - last.at_us // 1000, 0)
    return LastRequest(last.name, ago_ms, last.error, last.client_id, last.address)


def _touched(
    cluster: Cluster,
    where: TopicPartition,
    found: Described,
    producers: Sequence[ActiveProducer],
    ends: Ends,
    limit: int,
) -> TouchedPartition:
    mine = next((each for each in producers if each.producer.id == found.producer.id), None)
    start = None if mine is None or mine.start_offset < 0 else mine.start_offset
    records = size = None
    if mine is not None and start is not None and ends.high_watermark - start <= limit:
        begin = max(start, ends.log_start)
        behind = strip.stretches(cluster, where, ends, start=begin, stop=ends.high_watermark)
        records, size = _written_by(mine, behind)
    return TouchedPartition(
        topic=where.topic,
        partition=where.partition,
        start_offset=start,
        last_sequence=None if mine is None or mine.last_sequence < 0 else mine.last_sequence,
        records=records,
        bytes=size,
        last_stable_offset=ends.last_stable_offset,
        high_watermark=ends.high_watermark,
        pins=start is not None and start <= ends.last_stable_offset < ends.high_watermark,
    )


def _written_by(producer: ActiveProducer, behind: Sequence[Stretch]) -> tuple[int, int]:
    """Records and bytes of the transaction that a producer has open there."""
    mine = [each for each in behind if each.producer_id == producer.producer.id and each.fate == strip.OPEN]
    return sum(each.count for each in mine), sum(each.bytes for each in mine)


def pins(
    cluster: Cluster, door: SideDoor, *, now_ms: int, counted_offsets: int = COUNTED_OFFSETS
) -> list[Pin]:
    """Every partition, internal topics too, whose last stable offset is below its high watermark; longest first.

    What is hidden there is read to be counted, if it is no more than `counted_offsets`."""
    return list(survey(cluster, door, now_ms=now_ms, counted_offsets=counted_offsets).pins)


def survey(
    cluster: Cluster, door: SideDoor, *, now_ms: int, counted_offsets: int = COUNTED_OFFSETS
) -> Survey:
    """The same, and of which partitions it is not known: one without a leader hides no other."""
    everywhere = [
        TopicPartition(topic.name, each.index) for topic in cluster.topics() for each in topic.partitions
    ]
    ends, untold = ask.ends_told(cluster, everywhere)
    held = {where: each for where, each in ends.items() if each.last_stable_offset < each.high_watermark}
    if not held:
        return Survey((), tuple(untold))
    producers, refused = ask.producers_told(cluster, held)
    unknown = {TopicPartition(each.topic, each.partition): each.why for each in refused}
    opened = {
        where: sorted((each for each in found if each.start_offset >= 0), key=lambda each: each.start_offset)
        for where, found in producers.items()
    }
    held = {where: each for where, each in held.items() if where in opened or where in unknown}  # or deleted
    quiet = [where for where, found in opened.items() if not found]
    if quiet:  # ended since it was asked, or it grew between the two questions: then nobody waits there
        again, _ = ask.ends_told(cluster, quiet)
        for where in quiet:
            if where in again and again[where].last_stable_offset >= held[where].high_watermark:
                del held[where]
    owned = _owners(cluster, {int(each.producer.id) for found in opened.values() for each in found})
    owners = owned.under_way
    waiting, silent = _waiting_groups(cluster, held)
    causes = door.causes([each.transactional_id for each in owners.values()])
    names = sorted(each.transactional_id for each in owners.values())[:TRACED_OWNERS]
    last = {name: last_request(cluster, door, name, now_ms) for name in names}
    software = door.software()
    hanging = [
        (where, found[0].producer)
        for where, found in opened.items()
        if where in held and found and _owner_of(where, found, owners) is None
    ]
    unknown |= {
        where: owned.untold[int(producer.id)]
        for where, producer in hanging
        if int(producer.id) in owned.untold
    }
    hanging = [each for each in hanging if each[0] not in unknown]
    away = sum(each.topic == TRANSACTION_STATE for each in untold)
    if away:
        # No coordinator that answered knows them: one of those that are away may, and may have committed.
        why = f"its coordinator may be away, as {away} of {TRANSACTION_STATE}'s partitions"
        unknown |= dict.fromkeys((where for where, _ in hanging), why)
        hanging = []
    decided = decided_or_unknown(cluster, hanging if counted_offsets else [])
    committed = {where: each.transactional_id for (where, _), each in decided.items() if each.commit}
    found = [
        _pin(
            where,
            ends[where],
            opened.get(where, []),
            owners,
            committed,
            unknown.get(where),
            waiting.get(where, ()),
            causes,
            software,
            last,
            _read_behind(
                cluster, where, ends[where], opened.get(where, []), counted_offsets if where in opened else 0
            ),
            now_ms,
        )
        for where in held
    ]
    longest_first = sorted(found, key=lambda each: (-(each.pinned_ms or 0), each.topic, each.partition))
    away_by_id = {each.node_id: each for each in (*owned.away, *silent)}
    return Survey(tuple(longest_first), tuple(untold), tuple(away_by_id.values()))


@dataclass(frozen=True, slots=True)
class _Behind:
    """What is read behind a last stable offset."""

    records: int | None = None  # that are not aborted already
    bytes: int | None = None  # of the transaction that holds it
    written_ms: int | None = None  # when the first batch of that was


def _read_behind(
    cluster: Cluster, where: TopicPartition, ends: Ends, opened: Sequence[ActiveProducer], limit: int
) -> _Behind:
    """Up to `limit` offsets are read to be counted; of more the first batch; with a limit of 0 nothing at all."""
    if limit == 0:
        return _Behind()
    try:
        return _read(cluster, where, ends, opened, limit)
    except ClientFault:  # we may not read it, or its leader went meanwhile
        return _Behind()


def _read(
    cluster: Cluster, where: TopicPartition, ends: Ends, opened: Sequence[ActiveProducer], limit: int
) -> _Behind:
    first = opened[0] if opened else None
    if ends.high_watermark - ends.last_stable_offset > limit:
        start = None if first is None else max(first.start_offset, ends.log_start)
        return _Behind(written_ms=None if start is None else strip.written_at(cluster, where, start))
    behind = strip.stretches(cluster, where, ends, start=ends.last_stable_offset, stop=ends.high_watermark)
    records = sum(each.count for each in behind if each.fate in (strip.COMMITTED, strip.OPEN))
    if first is None:
        return _Behind(records)
    at = next((each.max_timestamp for each in behind if each.last_offset >= first.start_offset), -1)
    return _Behind(records, _written_by(first, behind)[1], at if at >= 0 else None)


@dataclass(frozen=True, slots=True)
class _Owners:
    """Who has which producer id."""

    under_way: Mapping[int, Described]  # the transactional id that has a transaction under way with it
    untold: Mapping[int, str]  # somebody may have one, and why we are not told
    away: tuple[Away, ...]


def _owners(cluster: Cluster, producer_ids: set[int]) -> _Owners:
    """Nobody has a producer id only if everybody was asked, and we may see all that they could name."""
    if not producer_ids:
        return _Owners({}, {}, ())
    listed, away = ask.transactions_told(cluster, producer_ids=sorted(producer_ids))
    described, refused = ask.descriptions_told(cluster, listed)
    untold = {
        each.producer_id: f"no right to describe {each.transactional_id!r} ({error_name(refused[each.transactional_id][0])})"
        for each in listed
        if each.transactional_id in refused
    }
    missing = producer_ids - {each.producer_id for each in listed}
    if missing and away:
        untold |= dict.fromkeys(missing, away_said(away) or "")
    elif missing and not ask.may_describe_all(cluster):
        error = ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED.name
        untold |= {
            each: f"no right to describe every transactional id ({error}), and none that we may see has producer {each}"
            for each in missing
        }
    under_way = {int(each.producer.id): each for each in described.values() if each.state in OPEN_STATES}
    return _Owners(under_way, untold, away)


def _owner_of(
    where: TopicPartition, opened: Sequence[ActiveProducer], owners: Mapping[int, Described]
) -> Described | None:
    """Who will end what is open there first; None: its coordinator will never write a marker here (KIP-664's hanging transaction)."""
    owner = owners.get(int(opened[0].producer.id)) if opened else None
    return owner if owner is not None and where in owner.partitions else None


def _pin(
    where: TopicPartition,
    ends: Ends,
    opened: Sequence[ActiveProducer],
    owners: Mapping[int, Described],
    committed: Mapping[TopicPartition, str],
    unknown: str | None,
    groups: Sequence[str],
    causes: Mapping[str, Cause] | None,
    software: Mapping[tuple[str | None, str], str],
    last: Mapping[str, LastRequest | None],
    behind: _Behind,
    now_ms: int,
) -> Pin:
    first = opened[0] if opened else None
    owner = _owner_of(where, opened, owners)
    if unknown is not None:
        kind, frees = "unknown", f"who holds it is not told: {unknown}"
    elif first is None:
        kind, frees = "ending", "nothing to do: its markers are on their way"
    elif owner is None:
        kind = "hanging"
        frees = command("txn", "abort", "--partition", where, "--start-offset", first.start_offset)
        if where in committed:  # an abort would take back what was committed
            frees = about("finish", committed[where])
    elif owner.state == ONGOING:
        kind, frees = "long", about("abort", owner.transactional_id)
    else:
        kind, frees = "ending", "nothing to do: its markers are on their way"
    since = behind.written_ms
    if (
        owner is not None and owner.start_ms >= 0
    ):  # a batch has its client's time, the coordinator knows better
        since = max(owner.start_ms, -1 if since is None else since)
    cause = None if owner is None or causes is None else causes.get(owner.transactional_id)
    return Pin(
        topic=where.topic,
        partition=where.partition,
        last_stable_offset=ends.last_stable_offset,
        high_watermark=ends.high_watermark,
        hidden_offsets=ends.high_watermark - ends.last_stable_offset,
        hidden_records=behind.records,
        since_ms=since,
        pinned_ms=None if since is None else max(now_ms - since, 0),
        transactional_id=None if owner is None else owner.transactional_id,
        producer_id=None if first is None else int(first.producer.id),
        producer_epoch=None if first is None else int(first.producer.epoch),
        state=None if owner is None else owner.state,
        start_offset=None if first is None else first.start_offset,
        bytes=behind.bytes,
        partitions=None if owner is None else len(owner.partitions),
        kind=kind,
        time_left_ms=None if owner is None else _time_left(owner, now_ms),
        open_behind=max(len(opened) - 1, 0),
        groups=tuple(groups),
        client_id=None if cause is None else cause.client_id,
        address=None if cause is None else cause.address,
        software=None if cause is None else software.get((cause.client_id, cause.host)),
        last_request=None if owner is None else last.get(owner.transactional_id),
        from_oncelog=causes is not None,
        frees=frees,
    )


def _waiting_groups(
    cluster: Cluster, held: Mapping[TopicPartition, Ends]
) -> tuple[dict[TopicPartition, tuple[str, ...]], tuple[Away, ...]]:
    """Groups that read a held partition and are not past its end: they wait now or will; and the brokers that told none of theirs.
    A group that got nothing yet has no offset there, but members to which the partition is assigned. Who asks for offsets that are
    in an open transaction waits too.
    """
    admin = Admin(cluster)
    waiting: dict[TopicPartition, list[str]] = {}
    listed, away = admin.groups_told()
    for listing in listed:
        try:
            its_own = _offsets_partition(cluster, listing.group)
            if its_own in held and ask.has_unstable_offsets(cluster, listing.group):
                waiting.setdefault(its_own, []).append(listing.group)
            offsets = admin.group_offsets(listing.group)
            members = admin.describe_group(listing.group).members
        except (RefusedByBroker, Unreachable, TimedOut):
            continue  # gone since it was listed, or its coordinator; or not a group that commits offsets
        for where in {*offsets, *(each for member in members for each in member.assignment)}:
            position = offsets[where].offset if where in offsets else -1
            if where in held and position < held[where].high_watermark:
                waiting.setdefault(where, []).append(listing.group)
    return {where: tuple(sorted(groups)) for where, groups in waiting.items()}, away


def _offsets_partition(cluster: Cluster, group: str) -> TopicPartition:
    """The partition of __consumer_offsets that has the group's offsets."""
    count = len(cluster.known(CONSUMER_OFFSETS).partitions)
    return TopicPartition(CONSUMER_OFFSETS, coordinator_partition(group, count))
