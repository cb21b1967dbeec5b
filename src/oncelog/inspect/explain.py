"""What an error of the transactional protocol means, which causes are possible here, and what to do next.

The causes are a table; evidence for or against each comes from the cluster. What cannot be known is said, not guessed.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from oncelog.client.admin import Admin
from oncelog.client.cluster import Cluster
from oncelog.client.faults import ClientFault, RefusedByBroker
from oncelog.errors import ErrorCode
from oncelog.inspect import ask, trace
from oncelog.inspect.ask import Bumped, Described, SideDoor
from oncelog.inspect.events import Event
from oncelog.inspect.replay import StateRecord

POSSIBLE: Final = "possible"
CONFIRMED: Final = "confirmed"
EXCLUDED: Final = "excluded"
MAX_TIMEOUT: Final = "transaction.max.timeout.ms"
BUMPS_SAID: Final = 3
LATELY_SAID: Final = 5
ASKED_IDS: Final = 1_000  # of the broker's ring; it holds no more unless it is told to
BY_NAME: Final = " (an administrator by its client id alone, which clients choose)"
UNKNOWN_BUMP: Final = "not kept by this broker (needs oncelog broker)"


@dataclass(frozen=True, slots=True)
class Reason:
    """One cause that an error can have."""

    name: str
    text: str
    do: str


@dataclass(frozen=True, slots=True)
class Meaning:
    """An error in the words of who gets it."""

    text: str
    fatal: str  # what the client must do with its producer
    reasons: tuple[Reason, ...]


@dataclass(frozen=True, slots=True)
class Weighed:
    """A cause with what speaks for or against it here."""

    cause: str
    verdict: str  # "confirmed", "possible", "excluded"
    text: str
    evidence: str
    do: str


@dataclass(frozen=True, slots=True)
class Explanation:
    error: str
    code: int
    text: str
    then: str
    transactional_id: str | None
    from_oncelog: bool | None
    causes: tuple[Weighed, ...]


NEW_INSTANCE: Final = Reason(
    "new instance",
    "another producer called init_transactions with the same transactional id: it owns the id now",
    "find out why two run at once (a rolling restart is fine, a copied configuration is not); let the older one exit",
)
TIMED_OUT: Final = Reason(
    "timeout",
    "the transaction was open longer than its transaction.timeout.ms and the coordinator aborted it",
    "make transactions shorter, or raise transaction.timeout.ms (the broker's maximum is transaction.max.timeout.ms)",
)
ADMIN: Final = Reason(
    "admin",
    "somebody aborted it: oncelog txn abort, kafka-transactions, or fenceProducers",
    "ask who did, and start the transaction again",
)
OLD_EPOCH: Final = Reason(
    "old epoch",
    "the request carries an epoch of an earlier transaction: a late copy on an old connection, or a restored state",
    "create a new producer; never store producer id and epoch outside of the client",
)
WRONG_ORDER: Final = Reason(
    "wrong order",
    "the call does not fit the state: commit without begin, a second commit, or a request after the end",
    "look at the order of calls: init_transactions once, then begin, send, commit or abort",
)
UNKNOWN_ID: Final = Reason(
    "unknown id",
    "the coordinator has no such transactional id with this producer id: it expired, init_transactions was never called, or it is "
    "spelled otherwise",
    "look at its spelling, then call init_transactions; ids unused for transactional.id.expiration.ms (7 days) are forgotten",
)
UNDER_WAY: Final = Reason(
    "ending",
    "the previous transaction of this id is decided and its markers are still being written",
    "wait and ask again: clients do so by themselves",
)
NOT_ADDED: Final = Reason(
    "partition not added",
    "the partition is not part of the open transaction (KIP-890 checks it for old clients)",
    "abort the transaction and begin again; update the client if it is older than 3.8",
)
LOST_RECORDS: Final = Reason(
    "gap in sequences",
    "a batch before this one never arrived or was refused",
    "abort the transaction; a producer that is only idempotent must be created anew",
)
ABOVE_MAXIMUM: Final = Reason(
    "timeout above the maximum",
    "transaction.timeout.ms of the client is above transaction.max.timeout.ms of the broker, or not above 0",
    "lower the client's transaction.timeout.ms, or raise the broker's maximum",
)
UNSTABLE: Final = Reason(
    "offsets in an open transaction",
    "offsets of this group are part of a transaction that is not ended yet",
    "wait; if it lasts, `oncelog txn stuck` names the transaction in __consumer_offsets",
)
REBALANCED: Final = Reason(
    "rebalanced",
    "the consumer whose offsets were sent is not a member of its group any more, or of an older generation: it was away for longer "
    "than its session.timeout.ms or max.poll.interval.ms, or the group shared its partitions out anew",
    "abort the transaction, poll again, and send the offsets with a fresh group_metadata; shorten what is done between two polls",
)
STATIC_TWIN: Final = Reason(
    "same instance id",
    "another consumer joined the group with the same group.instance.id and took its place",
    "give each consumer its own group.instance.id; let the older one exit",
)
NO_RIGHT: Final = Reason(
    "no right",
    "the user may not do this: transactions need WRITE and DESCRIBE of the transactional id, WRITE of each topic, and READ of the group "
    "whose offsets are sent",
    "give the rights (kafka-acls --producer --transactional-id ID --topic TOPIC, --group GROUP), or use the id and the group that the "
    "user has",
)
NO_ID: Final = Reason(
    "no transactional id",
    "the request writes in a transaction and names no transactional id: a broker without ACLs refuses that with the same error",
    "set transactional.id of the producer",
)
LOADING: Final = Reason(
    "coordinator loads or moves",
    "the broker that looks after this id has just started, or is another one now",
    "wait and ask again: clients do so by themselves",
)

OFFSETS_REFUSED: Final = "abort the transaction: its offsets were refused, the producer can go on"
FORBIDDEN: Final = "fatal for this producer: close it"
FENCED_TEXT: Final = "the producer's epoch is not the current one of its transactional id"
FENCED: Final = Meaning(
    FENCED_TEXT,
    "fatal for this producer: close it",
    (NEW_INSTANCE, TIMED_OUT, ADMIN, OLD_EPOCH),
)
MEANINGS: Final[dict[ErrorCode, Meaning]] = {
    ErrorCode.PRODUCER_FENCED: FENCED,
    ErrorCode.INVALID_PRODUCER_EPOCH: FENCED,
    ErrorCode.TRANSACTION_COORDINATOR_FENCED: Meaning(
        "a marker came from a coordinator that is not in charge any more",
        "nothing to do for clients",
        (LOADING,),
    ),
    ErrorCode.INVALID_TXN_STATE: Meaning(
        "the request does not fit the state of the transaction",
        "fatal for this producer: close it",
        (WRONG_ORDER, TIMED_OUT, ADMIN, NOT_ADDED),
    ),
    ErrorCode.INVALID_PRODUCER_ID_MAPPING: Meaning(
        "the coordinator does not know this producer id under this transactional id",
        "fatal for this producer: close it",
        (UNKNOWN_ID, NEW_INSTANCE),
    ),
    ErrorCode.CONCURRENT_TRANSACTIONS: Meaning(
        "the transactional id is busy", "asked again by every client", (UNDER_WAY,)
    ),
    ErrorCode.TRANSACTION_ABORTABLE: Meaning(
        "this transaction cannot go on, the producer can",
        "abort, then begin again with the same producer",
        (NOT_ADDED, TIMED_OUT, ADMIN),
    ),
    ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER: Meaning(
        "a batch is missing before this one", "abort the transaction", (LOST_RECORDS,)
    ),
    ErrorCode.UNKNOWN_PRODUCER_ID: Meaning(
        "the partition knows nothing of this producer", "abort the transaction", (LOST_RECORDS, UNKNOWN_ID)
    ),
    ErrorCode.INVALID_TRANSACTION_TIMEOUT: Meaning(
        "the broker refuses the transaction's timeout", "fatal: change the setting", (ABOVE_MAXIMUM,)
    ),
    ErrorCode.UNSTABLE_OFFSET_COMMIT: Meaning(
        "the group's offsets are not decided yet", "asked again by every client", (UNSTABLE,)
    ),
    ErrorCode.TRANSACTIONAL_ID_NOT_FOUND: Meaning(
        "the coordinator does not know the transactional id", "for admin tools only", (UNKNOWN_ID,)
    ),
    ErrorCode.ILLEGAL_GENERATION: Meaning(
        "the group has shared its partitions out anew since these offsets were read",
        OFFSETS_REFUSED,
        (REBALANCED,),
    ),
    ErrorCode.UNKNOWN_MEMBER_ID: Meaning(
        "the group does not know the consumer whose offsets are sent", OFFSETS_REFUSED, (REBALANCED,)
    ),
    ErrorCode.FENCED_INSTANCE_ID: Meaning(
        "the consumer's place in its group has been taken",
        "abort the transaction and close the consumer",
        (STATIC_TWIN,),
    ),
    ErrorCode.REBALANCE_IN_PROGRESS: Meaning(
        "the group is sharing its partitions out", OFFSETS_REFUSED, (REBALANCED,)
    ),
    ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: Meaning(
        "the user may not use this transactional id", FORBIDDEN, (NO_RIGHT, NO_ID)
    ),
    ErrorCode.GROUP_AUTHORIZATION_FAILED: Meaning(
        "the user may not commit offsets of this group",
        "abort the transaction; without the right it fails again",
        (NO_RIGHT,),
    ),
    ErrorCode.TOPIC_AUTHORIZATION_FAILED: Meaning(
        "the user may not write to this topic",
        "abort the transaction; without the right it fails again",
        (NO_RIGHT,),
    ),
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS: Meaning(
        "the coordinator is starting", "asked again by every client", (LOADING,)
    ),
    ErrorCode.COORDINATOR_NOT_AVAILABLE: Meaning(
        "there is no coordinator yet", "asked again by every client", (LOADING,)
    ),
    ErrorCode.NOT_COORDINATOR: Meaning(
        "another broker looks after this id", "asked again by every client", (LOADING,)
    ),
}


# What clients say instead: librdkafka where it has understood the broker's error itself, or was called in the wrong order, and Java
# where the exception is not named as the error.
ALIASES: Final = {
    "_FENCED": ErrorCode.PRODUCER_FENCED,
    "-144": ErrorCode.PRODUCER_FENCED,
    "_STATE": ErrorCode.INVALID_TXN_STATE,
    "-172": ErrorCode.INVALID_TXN_STATE,
    "InvalidPidMappingException": ErrorCode.INVALID_PRODUCER_ID_MAPPING,
    "OutOfOrderSequenceException": ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
    "InvalidTxnTimeoutException": ErrorCode.INVALID_TRANSACTION_TIMEOUT,
    "TransactionalIdAuthorizationException": ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
    "GroupAuthorizationException": ErrorCode.GROUP_AUTHORIZATION_FAILED,
    "TopicAuthorizationException": ErrorCode.TOPIC_AUTHORIZATION_FAILED,
    "ClusterAuthorizationException": ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
    "RecordTooLargeException": ErrorCode.MESSAGE_TOO_LARGE,
    "TimeoutException": ErrorCode.REQUEST_TIMED_OUT,
}
_ALIASES: Final = {name.lower(): error for name, error in ALIASES.items()}
_CLASS: Final = re.compile(
    r"(?:[a-z_]\w*\.)+([A-Z]\w*)(?:: .*)?", re.DOTALL
)  # as Java and Python print it, with what it says


def error_named(text: str) -> ErrorCode | None:
    """By Kafka's name in any spelling (PRODUCER_FENCED, ProducerFencedException, ProducerFencedError, with its package and what it
    says behind it), or by its number.
    """
    word = text.strip()
    named = _CLASS.fullmatch(word)
    word = named[1] if named is not None else word
    if word.lower() in _ALIASES:
        return _ALIASES[word.lower()]
    if word.lstrip("-").isdecimal():
        return next((each for each in ErrorCode if each == int(word)), None)
    known = {each.name.replace("_", "").lower(): each for each in ErrorCode}
    spelled = (word, word.removesuffix("Exception"), word.removesuffix("Error"))
    return next((known[each] for one in spelled if (each := one.replace("_", "").lower()) in known), None)


def explain(
    error: ErrorCode,
    cluster: Cluster | None,
    transactional_id: str | None,
    *,
    now_ms: int,
    door: SideDoor | None = None,
) -> Explanation:
    """Without a cluster only the meaning; with a transactional id also what its coordinator knows. With a cluster and no id, to whom an
    oncelog broker gave this answer lately.
    """
    meaning = MEANINGS.get(
        error,
        Meaning(error.name.replace("_", " ").lower(), "no error of transactions: see Kafka's manual", ()),
    )
    found: Described | None = None
    fenced: Fenced | None = None
    refused: Refused | None = None
    from_oncelog: bool | None = None
    timeout_limit: int | None = None
    logged: Sequence[StateRecord] = ()
    untold: str | None = None
    is_hidden = False
    lately: Sequence[str] = ()
    reasons = meaning.reasons
    if cluster is not None:
        door = SideDoor(cluster) if door is None else door
        from_oncelog = door.is_there
        timeout_limit = _max_timeout(cluster)
        if transactional_id is None:
            lately = _refused_lately(cluster, door, error.name, now_ms)
        else:
            try:
                found = ask.describe_transaction(cluster, transactional_id)
            except RefusedByBroker as fault:
                if fault.error != ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED:
                    raise
                is_hidden = True
            refused = _refused(cluster, door, transactional_id, error.name)
            past = trace.past_of(cluster, transactional_id)
            untold = past.untold
            is_odd = found is None and not is_hidden and ABOVE_MAXIMUM not in reasons
            if is_odd and UNKNOWN_ID not in reasons:
                reasons = (UNKNOWN_ID, *reasons)  # what was asked may be about no id at all
            if untold is None and from_oncelog:
                fenced = fenced_by(past.bumps, refused)
            else:
                logged = past.states
    causes = tuple(
        _weigh(
            each,
            found,
            fenced,
            refused,
            transactional_id,
            cluster is not None,
            timeout_limit,
            logged,
            untold,
            lately,
            now_ms,
            is_named=each in meaning.reasons,
            is_hidden=is_hidden,
        )
        for each in reasons
    )
    order = {CONFIRMED: 0, POSSIBLE: 1, EXCLUDED: 2}
    return Explanation(
        error=error.name,
        code=int(error),
        text=meaning.text,
        then=meaning.fatal,
        transactional_id=transactional_id,
        from_oncelog=from_oncelog,
        causes=tuple(sorted(causes, key=lambda each: order[each.verdict])),
    )


def _weigh(
    reason: Reason,
    found: Described | None,
    fenced: "Fenced | None",
    refused: "Refused | None",
    transactional_id: str | None,
    asked: bool,
    timeout_limit: int | None,
    logged: Sequence[StateRecord],
    untold: str | None,
    lately: Sequence[str],
    now_ms: int,
    *,
    is_named: bool,
    is_hidden: bool,
) -> Weighed:
    """`lately`: who got the error; `is_named`: the table has this reason for it; `is_hidden`: we may not see the id."""
    verdict, evidence = POSSIBLE, ""
    if not asked:
        evidence = "no cluster was asked"
    elif reason is ABOVE_MAXIMUM:
        evidence = f"{MAX_TIMEOUT} is {timeout_limit} here" if timeout_limit is not None else "not known here"
        said = lately if refused is None else [_timeout_said(refused, now_ms)]
        if said:
            verdict, evidence = CONFIRMED, f"{'; '.join(said)}; {evidence}"
    elif transactional_id is None:
        evidence = "name the transactional id with --tid"
        if lately:
            evidence += f"; it was answered lately to {'; '.join(lately)}"
    elif is_hidden:
        evidence = f"we may not see {transactional_id!r} either"
    elif found is None:  # misspelt, or forgotten since: nothing is excluded by it
        evidence = f"the coordinator does not know {transactional_id!r}"
        if reason is UNKNOWN_ID:
            verdict = CONFIRMED if is_named else POSSIBLE
            evidence += ": look at how it is spelled and at the cluster; it may have expired since"
    elif reason is UNKNOWN_ID:
        verdict = EXCLUDED
        evidence = f"{transactional_id!r} is {found.state} as {found.producer}"
    elif reason is UNDER_WAY:
        ending = found.state.startswith("Prepare")
        verdict = CONFIRMED if ending else POSSIBLE
        evidence = f"its state is {found.state} now"
    elif reason in (NEW_INSTANCE, TIMED_OUT, ADMIN):
        if untold is not None:
            evidence = f"its state log is not told to us ({untold})"
        elif fenced is None:
            verdict, evidence = by_states(reason, logged, now_ms)
        else:
            verdict, evidence = _by_bump(reason, fenced, refused, now_ms)
    elif refused is not None:
        verdict, evidence = _by_request(reason, found, fenced, refused, now_ms)
    else:
        evidence = f"its state is {found.state}, its producer {found.producer}"
    return Weighed(reason.name, verdict, reason.text, evidence, reason.do)


@dataclass(frozen=True, slots=True)
class Fenced:
    """The bumps of an id that the state log still holds, oldest first, by what they did to the epoch of the refused request."""

    bumps: tuple[Bumped, ...]
    above: tuple[
        Bumped, ...
    ]  # those that left the request's epoch behind; without a request all that can have fenced anybody
    is_whole: bool  # no earlier one of `above` can have been compacted away

    @property
    def first(self) -> Bumped | None:
        return self.above[0] if self.above else None


def fenced_by(bumps: Sequence[Bumped], refused: "Refused | None") -> Fenced:
    """Whoever holds an epoch was fenced by the first bump above it; later ones fenced others.

    Compaction keeps the last bump of what it compacts and all behind that: with one from before the request's epoch none is missing.
    """
    epoch = None if refused is None else refused.epoch
    if refused is None or epoch is None or epoch < 0:
        is_whole = bool(bumps) and bumps[0].producer_epoch == 0
        return Fenced(tuple(bumps), tuple(bumps[1:] if is_whole else bumps), is_whole)
    producer_id = refused.event.producer_id
    before = [
        at
        for at, each in enumerate(bumps)
        if producer_id in (None, each.producer_id) and each.producer_epoch <= epoch
    ]
    return Fenced(tuple(bumps), tuple(bumps[before[-1] + 1 :] if before else bumps), bool(before))


def by_states(reason: Reason, logged: Sequence[StateRecord], now_ms: int) -> tuple[str, str]:
    """Of a broker that keeps no causes, as Apache Kafka: what its state log tells by times and epochs. None is proved by it: an
    abort that came after the timeout may be a successor's, and who called init_transactions is not written down. But what left
    no trace in a log that is whole did not happen.
    """
    if reason is ADMIN or not logged:
        return POSSIBLE, UNKNOWN_BUMP
    is_whole = logged[0].state == "Empty" and logged[0].producer_epoch == 0  # or it was compacted
    if reason is NEW_INSTANCE:
        again = [each for each in logged[1:] if each.state == "Empty" and each.producer_epoch > 0]
        if not again and not is_whole:
            return POSSIBLE, UNKNOWN_BUMP
        if not again:  # who asked once while a transaction was open had it aborted, and no answer yet
            if any(_raises_by_abort(before, each) for before, each in pairwise(logged)):
                half = "an abort raised its epoch, as the first half of init_transactions does; its state log tells of no second half"
                return POSSIBLE, half
            return EXCLUDED, "its state log is whole: no second init_transactions was done"
        said = f"init_transactions raised it to epoch {again[-1].producer_epoch}, {_ago(now_ms - again[-1].at_ms)} ago"
        return POSSIBLE, f"{said}, by its state log; by whom is {UNKNOWN_BUMP}"
    aborts = [each for each in logged if each.state == "PrepareAbort"]
    late = [each for each in aborts if _lasted(each) >= each.timeout_ms]
    if late:
        last = late[-1]
        said = (
            f"aborted {_ago(now_ms - last.at_ms)} ago, {_lasted(last)} ms after it began, with a timeout of "
            f"{last.timeout_ms} ms, by its state log"
        )
        return POSSIBLE, f"{said}; why is {UNKNOWN_BUMP}"
    if is_whole:
        return EXCLUDED, "its state log is whole and tells of no abort after a timeout"
    return POSSIBLE, UNKNOWN_BUMP


def _raises_by_abort(before: StateRecord, each: StateRecord) -> bool:
    """As the abort of another one than the owner does; by KIP-890's protocol the owner's own does too."""
    return each.state == "PrepareAbort" and each.producer_epoch > before.producer_epoch


def _lasted(aborted: StateRecord) -> int:
    return aborted.at_ms - aborted.start_ms if aborted.start_ms >= 0 else 0


def _by_bump(reason: Reason, fenced: Fenced, refused: "Refused | None", now_ms: int) -> tuple[str, str]:
    """Why an epoch was bumped, as oncelog keeps it."""
    if not fenced.bumps:
        return POSSIBLE, "the epoch was not bumped since the broker keeps count"
    first = fenced.first
    if first is None:
        last = _bump_said(fenced, fenced.bumps[-1], now_ms)
        if refused is None:
            return POSSIBLE, f"{last}, which is its first"
        return EXCLUDED, f"{last}; {refused.said(now_ms)} is not from before that"
    mine = [each for each in fenced.above if each.cause == reason.name]
    evidence = _bump_said(fenced, mine[-1] if mine and refused is None else first, now_ms)
    if not fenced.is_whole:
        return POSSIBLE, f"{evidence}; what was before that is compacted away"
    if refused is None:
        if not mine:
            return EXCLUDED, evidence
        is_only = len(mine) == len(fenced.above)
        return (
            (CONFIRMED, f"{evidence}{BY_NAME if reason is ADMIN else ''}")
            if is_only
            else (POSSIBLE, f"{evidence}; it was bumped for other causes too")
        )
    if first.cause == reason.name:
        said = "; then ".join(_bump_said(fenced, each, now_ms) for each in fenced.above[:BUMPS_SAID])
        return CONFIRMED, f"{said}{BY_NAME if reason is ADMIN else ''}"
    later = "" if not mine else f"; only then {_bump_said(fenced, mine[0], now_ms)}"
    return EXCLUDED, f"{evidence}{later}"


def _bump_said(fenced: Fenced, bump: Bumped, now_ms: int) -> str:
    who = f" by {bump.client_id} at {bump.address}" if bump.client_id is not None else ""
    which = "last bump" if bump is fenced.bumps[-1] else "bump"
    return f"{which}: {bump.cause}{who}, {_ago(now_ms - bump.at_ms)} ago, to epoch {bump.producer_epoch}"


def _ago(ms: int) -> str:
    """Seconds, and from two minutes on hours and minutes too."""
    seconds = max(ms, 0) // 1000
    if seconds < 120:
        return f"{seconds} s"
    return f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"


@dataclass(frozen=True, slots=True)
class Refused:
    """The newest request that got the error, and what had been answered well before it, as the broker keeps them."""

    event: Event
    before: Event | None

    @property
    def epoch(self) -> int | None:
        return self.event.producer_epoch

    def said(self, now_ms: int) -> str:
        event = self.event
        ago = _ago(now_ms - event.at_us // 1000)
        words = f" {event.said.split(',')[0]}" if event.name == "EndTxn" else ""
        return (
            f"{event.name}{words} with epoch {event.producer_epoch}, {ago} ago by {event.client_id} "
            f"at {event.address}"
        )


def _timeout_said(refused: Refused, now_ms: int) -> str:
    event = refused.event
    ago = _ago(now_ms - event.at_us // 1000)
    return f"{event.name} of {event.transactional_id!r} with {event.said}, {ago} ago by {event.client_id} at {event.address}"


def _refused_lately(cluster: Cluster, door: SideDoor, error: str, now_ms: int) -> list[str]:
    """Who got the error, the newest first: of the ids that the broker's ring knows, also those that no coordinator ever let in."""
    found: list[Refused] = []
    for each in (door.traced_ids() or [])[-ASKED_IDS:]:
        refused = _refused(cluster, door, each, error)
        if refused is not None:
            found.append(refused)
    newest = sorted(found, key=lambda each: -each.event.at_us)[:LATELY_SAID]
    return [
        _timeout_said(each, now_ms)
        if error == ErrorCode.INVALID_TRANSACTION_TIMEOUT.name
        else f"{each.event.transactional_id!r}: {each.said(now_ms)}"
        for each in newest
    ]


def _refused(cluster: Cluster, door: SideDoor, transactional_id: str, error: str) -> Refused | None:
    """Clients give one name to errors of one meaning: librdkafka says fenced where an old version of a request was told that
    its epoch is invalid.
    """
    kept = [event for _, event in trace.requests(cluster, door, transactional_id) or ()]
    same = {
        error,
        *(each.name for each, meaning in MEANINGS.items() if meaning is MEANINGS.get(ErrorCode[error])),
    }
    at = next((at for at in range(len(kept) - 1, -1, -1) if kept[at].error in same), None)
    if at is None:
        return None
    return Refused(kept[at], next((each for each in reversed(kept[:at]) if each.error == "NONE"), None))


def _by_request(
    reason: Reason, found: Described, fenced: Fenced | None, refused: Refused, now_ms: int
) -> tuple[str, str]:
    """What the refused request itself tells."""
    said = refused.said(now_ms)
    if reason is OLD_EPOCH and refused.epoch is not None:
        first = None if fenced is None else fenced.first
        if fenced is not None and first is not None:
            verdict = EXCLUDED if fenced.is_whole else POSSIBLE
            return verdict, f"{said}: the bump to {first.producer_epoch} explains it"
        is_same = refused.event.producer_id in (None, int(found.producer.id))
        if is_same and refused.epoch < found.producer.epoch:
            return CONFIRMED, f"{said}, while the id is at {found.producer.epoch} by transactions that ended"
    if reason is WRONG_ORDER and refused.event.name == "EndTxn" and refused.before is not None:
        before = refused.before
        if before.name in ("EndTxn", "InitProducerId"):
            return CONFIRMED, f"{said}; before it was {before.name} and no transaction was begun"
        return POSSIBLE, f"{said}; before it was {before.name}"
    if reason is LOST_RECORDS and refused.event.name == "Produce":
        where = ", ".join(
            f"{each.topic}-{each.partition} sequence {each.base_sequence}"
            for each in refused.event.touched
            if each.error != "NONE"
        )
        return CONFIRMED, f"{said}: {where}"
    return POSSIBLE, said


def _max_timeout(cluster: Cluster) -> int | None:
    try:
        settings = Admin(cluster).settings_of_some_broker()
    except ClientFault:
        return None
    found = next((each.value for each in settings if each.name == MAX_TIMEOUT), None)
    return int(found) if found is not None and found.isdecimal() else None


def known() -> Sequence[str]:
    """The errors that have a meaning here."""
    return sorted(each.name for each in MEANINGS)
