"""The outbox: every row once, in the order of transactions, whatever is killed when."""

import itertools
import random
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager
from typing import Final, LiteralString

import psycopg
import pytest

import oncelog
from oncelog.client.admin import Admin, CommittedOffset
from oncelog.client.batch_writer import BatchWriter
from oncelog.client.cluster import TRANSACTION, Cluster
from oncelog.client.easy import create_topic
from oncelog.client.faults import Fenced, RefusedByBroker, TimedOut, Unreachable
from oncelog.client.transactional import TransactionalId
from oncelog.errors import ErrorCode
from oncelog.model import Producer, ProducerEpoch, ProducerId, TopicPartition
from oncelog.postgres import outbox
from oncelog.postgres.outbox import (
    OutboxFailed,
    OutboxRefused,
    Position,
    RowRefused,
    Shipper,
    make_outbox,
    make_progress_topic,
)
from oncelog.protocol.messages.describe_transactions import (
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
    TransactionState,
)
from oncelog.record.batch import NewRecord, build_batch
from tests.conformance import targets
from tests.oracle import Oracle
from tests.postgres.conftest import Shop
from tests.postgres_server import Database
from tests.toolchains import ROOT, Missing, leave_out

TARGETS = targets.chosen()
STEPS = ["begun", "written", "position", "offsets", "ended"]


@contextmanager
def running(
    target: str, settings: Mapping[str, str] | None = None, *, level: int = 2, virtual_clock: bool = False
) -> Generator[oncelog.Broker | Oracle]:
    """A broker of its own, at this level of transaction.version."""
    if target == "oncelog":
        given = {"transaction.version": level, **(settings or {})}
        with oncelog.Broker(settings=given, virtual_clock=virtual_clock) as broker:
            yield broker
        return
    try:
        kafka = Oracle(settings, features={"transaction.version": level})
    except Missing as why:
        leave_out(f"comparison with {target}", why)
    with kafka:
        yield kafka


@pytest.fixture(scope="module", params=[(target, level) for target in TARGETS for level in (2, 1)])
def broker(request: pytest.FixtureRequest) -> Iterator[oncelog.Broker | Oracle]:
    """By both of Kafka's transaction protocols."""
    target, level = request.param
    with running(target, level=level) as found:
        yield found


@pytest.fixture(autouse=True)
def table(dsn: str) -> None:
    with psycopg.connect(dsn) as connection:
        connection.execute("DROP TABLE IF EXISTS outbox")
    make_outbox(dsn)


def insert(dsn: str, topic: str, first: int, count: int) -> None:
    with psycopg.connect(dsn) as connection:
        for number in range(first, first + count):
            connection.execute(
                "INSERT INTO outbox (topic, key, value) VALUES (%s, %s, %s)",
                (topic, b"k%d" % (number % 7), b"%d" % number),
            )


def shipper(
    dsn: str,
    shop: Shop,
    *,
    rows_at_once: int = 1000,
    reached: Callable[[str], None] | None = None,
) -> Shipper:
    return Shipper(
        dsn,
        Cluster(shop.bootstrap),
        transactional_id=shop.transactional_id,
        progress_topic=shop.positions,
        rows_at_once=rows_at_once,
        reached=reached,
    )


def values(shop: Shop, topic: str | None = None) -> list[int]:
    return sorted(int(each.value or b"") for each in shop.read(topic or shop.orders))


def test_rows_are_shipped_once_and_in_order(dsn: str, shop: Shop) -> None:
    insert(dsn, shop.orders, 0, 50)
    insert(dsn, shop.audit, 50, 5)
    one = shipper(dsn, shop, rows_at_once=20)
    assert [one.ship() for _ in range(4)] == [20, 20, 15, 0]
    assert values(shop) == list(range(50))
    assert values(shop, shop.audit) == list(range(50, 55))
    by_key: dict[bytes | None, list[int]] = {}
    for each in shop.read(shop.orders):
        by_key.setdefault(each.key, []).append(int(each.value or b""))
    assert all(found == sorted(found) for found in by_key.values())
    another = shipper(dsn, shop)
    assert another.ship() == 0  # it goes on where the first one stood
    insert(dsn, shop.orders, 100, 3)
    assert another.ship() == 3
    insert(dsn, shop.orders, 200, 1)
    with pytest.raises(Fenced):
        one.ship()


def test_a_row_of_a_transaction_that_commits_late_is_not_missed(dsn: str, shop: Shop) -> None:
    one = shipper(dsn, shop)
    with psycopg.connect(dsn) as late:
        late.execute("INSERT INTO outbox (topic, value) VALUES (%s, '1')", (shop.orders,))  # committed last
        insert(dsn, shop.orders, 2, 3)
        assert one.ship() == 0  # they are younger than a transaction that is still open
        late.commit()
    assert one.ship() == 4
    assert values(shop) == [1, 2, 3, 4]


@pytest.mark.parametrize("step", STEPS)
def test_a_crash_at_any_step_neither_loses_nor_doubles(dsn: str, shop: Shop, step: str) -> None:
    insert(dsn, shop.orders, 0, 10)

    def crash(reached: str) -> None:
        if reached == step:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        shipper(dsn, shop, reached=crash).ship()
    assert values(shop) == (list(range(10)) if step == "ended" else [])
    assert shipper(dsn, shop).ship() == (0 if step == "ended" else 10)
    assert values(shop) == list(range(10))


@pytest.mark.parametrize("step", ["offsets", "ended"])
def test_a_crash_is_survived_though_the_group_forgets_its_offsets(dsn: str, shop: Shop, step: str) -> None:
    """What 7 days without a shipper do to them: the compacted topic has the position."""
    insert(dsn, shop.orders, 0, 10)
    assert shipper(dsn, shop, rows_at_once=6).ship() == 6

    def crash(reached: str) -> None:
        if reached == step:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        shipper(dsn, shop, reached=crash).ship()
    forget_offsets(shop)
    assert shipper(dsn, shop).ship() == (0 if step == "ended" else 4)
    assert values(shop) == list(range(10))


def test_an_offset_that_somebody_has_set_is_not_taken_for_the_beginning(dsn: str, shop: Shop) -> None:
    insert(dsn, shop.orders, 0, 5)
    assert shipper(dsn, shop).ship() == 5
    with Cluster(shop.bootstrap) as cluster:
        Admin(cluster).commit_offsets(shop.transactional_id, {TopicPartition(shop.positions, 0): 0})
    assert shipper(dsn, shop).ship() == 0
    assert values(shop) == list(range(5))


def forget_offsets(shop: Shop) -> None:
    with Cluster(shop.bootstrap) as cluster:
        admin = Admin(cluster)
        TransactionalId(cluster, shop.transactional_id).init()  # nothing is on its way any more
        assert admin.group_offsets(shop.transactional_id, require_stable=True)
        admin.delete_offsets(shop.transactional_id, [TopicPartition(shop.positions, 0)])
        wait(lambda: not admin.group_offsets(shop.transactional_id))


def test_a_row_is_not_missed_when_another_writer_took_its_place(dsn: str, shop: Shop) -> None:
    """A broker takes our batch for a repetition of the stranger's and acknowledges it: it was never written."""
    insert(dsn, shop.audit, 0, 1)

    def write_before(reached: str) -> None:
        if reached != "begun":
            return
        with Cluster(shop.bootstrap) as cluster:
            state = described(cluster, shop.transactional_id)
            producer = Producer(ProducerId(state.producer_id), ProducerEpoch(state.producer_epoch))
            batch = build_batch(
                [NewRecord(b"k0", b"77", 1)],
                producer_id=producer.id,
                producer_epoch=producer.epoch,
                base_sequence=0,
                transactional=True,
            )
            who, where = TransactionalId(cluster, shop.transactional_id), TopicPartition(shop.audit, 0)
            who.add_partitions(producer, [where])
            with BatchWriter(cluster, shop.transactional_id, producer, protocol=who.protocol) as writer:
                writer.write(where, batch)

    with pytest.raises(OutboxFailed, match="acknowledged at offset 0, the partition ended at 1 before"):
        shipper(dsn, shop, reached=write_before).ship()
    assert values(shop, shop.audit) == []
    assert shipper(dsn, shop).ship() == 1
    assert values(shop, shop.audit) == [0]


def described(cluster: Cluster, transactional_id: str) -> TransactionState:
    whom = cluster.coordinator(transactional_id, TRANSACTION)
    request = DescribeTransactionsRequest(transactional_ids=[transactional_id])
    (found,) = whom.send(request, DescribeTransactionsResponse).transaction_states
    return found


# Days without a row

# What Kafka waits 7 days for; at least a minute for offsets.
FORGETFUL = {
    "offsets.retention.minutes": "1",
    "offsets.retention.check.interval.ms": "500",
    "transactional.id.expiration.ms": "10000",
    "transaction.remove.expired.transaction.cleanup.interval.ms": "500",
    "log.cleaner.backoff.ms": "100",
}


@pytest.fixture(scope="module", params=[(target, level) for target in TARGETS for level in (2, 1)])
def forgetful(request: pytest.FixtureRequest) -> Iterator[oncelog.Broker | Oracle]:
    """A broker with whom days can be made to pass: by its clock, or by settings."""
    target, level = request.param
    settings = FORGETFUL if target == "kafka" else {"log.retention.ms": "-1"}  # what was shipped stays
    with running(target, settings, level=level, virtual_clock=True) as found:
        yield found


def let_all_be_forgotten(shop: Shop) -> None:
    if isinstance(shop.broker, oncelog.Broker):
        shop.broker.clock.advance(9 * 86_400)
    with Cluster(shop.bootstrap) as cluster:
        admin, name = Admin(cluster), shop.transactional_id
        wait(lambda: not admin.group_offsets(name), limit_s=150)
        wait(lambda: described(cluster, name).error_code == ErrorCode.TRANSACTIONAL_ID_NOT_FOUND)


@pytest.mark.timeout(240)
def test_days_without_a_row_neither_end_the_shipper_nor_double_rows(
    dsn: str, forgetful: oncelog.Broker | Oracle
) -> None:
    shop = Shop(forgetful)
    insert(dsn, shop.orders, 0, 6)
    old, living = shipper(dsn, shop, rows_at_once=3), shipper(dsn, shop, rows_at_once=3)
    assert (old.ship(), living.ship()) == (3, 3)
    let_all_be_forgotten(shop)
    insert(dsn, shop.orders, 6, 1)
    assert living.ship() == 1  # the one that lived on
    assert values(shop) == list(range(7))
    insert(dsn, shop.orders, 7, 1)
    with pytest.raises(Fenced):
        old.ship()
    let_all_be_forgotten(shop)
    assert shipper(dsn, shop).ship() == 1  # a new one
    assert values(shop) == list(range(8))


@pytest.mark.timeout(240)
def test_a_progress_topic_that_is_compacted_keeps_the_position(
    dsn: str, forgetful: oncelog.Broker | Oracle
) -> None:
    """Several outboxes in one topic, and cleaned for real."""
    shop = Shop(forgetful)
    others = [Shop(forgetful) for _ in range(2)]
    with Cluster(shop.bootstrap) as cluster:
        admin, here = Admin(cluster), TopicPartition(shop.positions, 0)
        ships = [
            Shipper(
                dsn,
                cluster,
                transactional_id=each.transactional_id,
                progress_topic=shop.positions,
                rows_at_once=2,
            )
            for each in (shop, *others)
        ]
        insert(dsn, shop.orders, 0, 12)
        for one in ships:
            assert [one.ship() for _ in range(3)] == [2, 2, 2]
        assert len(stored(shop.positions, shop)) == 9
        quick = {"segment.ms": "100", "min.cleanable.dirty.ratio": "0.01"}
        admin.set_topic_settings(shop.positions, quick)

        def cleaned() -> bool:
            ships[-1].ship()  # something new, so that older segments are closed
            insert(dsn, shop.orders, 100, 1)
            if isinstance(shop.broker, oncelog.Broker):
                shop.broker.clock.advance(60)
            return all(keys.count(name) == 1 for keys in [stored(shop.positions, shop)] for name in firsts)

        firsts = [each.transactional_id for each in (shop, others[0])]
        wait(cleaned)
        for each in (shop, others[0]):
            admin.delete_offsets(each.transactional_id, [here])
            again = Shipper(
                dsn, cluster, transactional_id=each.transactional_id, progress_topic=shop.positions
            )
            assert again.open() == ships[0].open()
            assert again.open() > Position()


def stored(topic: str, shop: Shop) -> list[str]:
    return [(each.key or b"").decode() for each in shop.read(topic)]


def test_a_position_of_somebody_else_is_refused(dsn: str, shop: Shop) -> None:
    with Cluster(shop.bootstrap) as cluster:
        here = TopicPartition(shop.positions, 0)
        Admin(cluster).commit_offsets(shop.transactional_id, {here: 5}, metadata="mine")
    with pytest.raises(OutboxRefused, match="mine"):
        shipper(dsn, shop).open()
    assert Position(3, 4) < Position(3, 5) < Position(4, 0)


def test_a_position_kept_with_another_progress_topic_still_counts(dsn: str, shop: Shop) -> None:
    """Before decision 0032 any topic did, and nothing but the offset of the group was written."""
    insert(dsn, shop.orders, 0, 5)
    elsewhere = TopicPartition(shop.audit, 0)
    with psycopg.connect(dsn) as connection:
        found = connection.execute("SELECT txid::text::bigint, id FROM outbox ORDER BY id LIMIT 3").fetchall()
    with Cluster(shop.bootstrap) as cluster:
        who = TransactionalId(cluster, shop.transactional_id)
        producer = who.init()
        last = CommittedOffset(found[2][1], -1, Position(*found[2]).text())
        who.commit_offsets(producer, shop.transactional_id, {elsewhere: last})
        who.end(producer, commit=True)
    assert shipper(dsn, shop).ship() == 2
    assert values(shop) == [3, 4]


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (None, "does not exist"),
        ({"cleanup.policy": "delete"}, "wanted cleanup.policy=compact, found delete"),
        ({"cleanup.policy": "compact,delete"}, "wanted cleanup.policy=compact, found compact,delete"),
    ],
)
def test_a_progress_topic_that_forgets_is_refused_and_nobody_is_fenced(
    dsn: str, shop: Shop, settings: Mapping[str, str] | None, said: str
) -> None:
    right = shipper(dsn, shop)
    right.open()
    topic = f"{shop.positions}-wrong"
    if settings is not None:
        create_topic(shop.bootstrap, topic, configs=settings)
    with Cluster(shop.bootstrap) as cluster:
        wrong = Shipper(dsn, cluster, transactional_id=shop.transactional_id, progress_topic=topic)
        with pytest.raises(OutboxRefused, match=f"{topic}.*{said}.*make_progress_topic"):
            wrong.ship()
        make_progress_topic(cluster, shop.positions)  # it is there: all the same
    insert(dsn, shop.orders, 0, 1)
    assert right.ship() == 1


# Rows that cannot be shipped

SMALL = {"max.message.bytes": "2000"}
BAD_ROWS: dict[str, tuple[dict[str, object], str]] = {
    "a topic that is missing": ({"topic": "nowhere"}, "UNKNOWN_TOPIC_OR_PARTITION"),
    "no name of a topic": ({"topic": "what is this?"}, "INVALID_TOPIC_EXCEPTION"),
    "no topic": ({"topic": ""}, "INVALID_TOPIC_EXCEPTION"),
    "the topic of positions": ({"topic": "positions"}, "for positions only"),
    "too large": ({"topic": "small", "value": bytes(3000)}, "MESSAGE_TOO_LARGE"),
    "without a key": ({"topic": "compacted", "key": None}, "INVALID_RECORD"),
    "at no time": ({"at": "infinity"}, "not a finite time"),
    "later than the broker believes": ({"at": "2090-01-01"}, "INVALID_TIMESTAMP"),
}


@pytest.mark.parametrize("may_ask", [True, False])
@pytest.mark.parametrize("case", BAD_ROWS)
def test_a_row_that_cannot_be_shipped_is_named_and_nothing_is_lost(
    dsn: str, shop: Shop, monkeypatch: pytest.MonkeyPatch, case: str, may_ask: bool
) -> None:
    monkeypatch.setattr(outbox, "NEW_TOPIC_WAIT_MS", 300)
    if not may_ask:  # a user who may write and not DescribeConfigs
        monkeypatch.setattr(Admin, "values_of_topics", tells_nothing)
    names = {"positions": shop.positions}
    for name, settings in (("small", SMALL), ("compacted", {"cleanup.policy": "compact"})):
        names[name] = f"{name}-{shop.number}"
        create_topic(shop.bootstrap, names[name], configs=settings)
    fields, said = BAD_ROWS[case]
    row = {"topic": shop.orders, "key": b"k", "value": b"-1", "at": "2026-01-01", **fields}
    row["topic"] = names.get(str(row["topic"]), row["topic"])
    insert(dsn, shop.orders, 0, 7)
    with psycopg.connect(dsn) as connection:
        found = connection.execute(
            "INSERT INTO outbox (topic, key, value, at) VALUES (%s, %s, %s, %s) RETURNING id",
            list(row.values()),
        ).fetchone()
    assert found is not None
    insert(dsn, shop.orders, 7, 5)
    one = shipper(dsn, shop)
    shipped: list[int] = []
    with pytest.raises(RowRefused, match=rf"row id={found[0]} .*{said}") as fault:
        ship_all(one, shipped)
    assert fault.value.position.id == found[0]
    assert sum(shipped) == 7  # all before it
    assert values(shop) == list(range(7))
    with pytest.raises(RowRefused):
        one.ship()
    assert values(shop) == list(range(7))
    with psycopg.connect(dsn) as connection:
        connection.execute(
            "UPDATE outbox SET topic = %s, key = 'k', value = '7', at = now() WHERE id = %s",
            (shop.audit, found[0]),
        )
    ship_all(one, shipped)
    assert values(shop) == list(range(12))
    assert values(shop, shop.audit) == [7]


def put_at(dsn: str, topic: str, *times: LiteralString) -> None:
    """Rows of these times, in SQL, in the order of their numbers from 0."""
    with psycopg.connect(dsn) as connection:
        for number, at in enumerate(times):
            connection.execute(
                f"INSERT INTO outbox (topic, key, value, at) VALUES (%s, 'k', %s, {at})",
                (topic, b"%d" % number),
            )


MOON: Final = "timestamptz '1969-07-20 20:17:40+00'"
CAESAR: Final = "timestamptz '0044-03-15 12:00:00+00 BC'"


def test_rows_of_the_past_keep_their_time(dsn: str, shop: Shop) -> None:
    for keeping in ({"retention.ms": "-1"}, {"cleanup.policy": "compact"}):
        topic = f"{next(iter(keeping))}-{shop.number}"
        create_topic(shop.bootstrap, topic, configs=keeping)
        put_at(dsn, topic, "to_timestamp(0.001)", MOON, CAESAR)
        assert shipper(dsn, shop).ship() == 3
        assert [each.timestamp for each in shop.read(topic)] == [1, -14_182_940_000, -63_517_780_800_000]


def test_a_row_that_its_topic_would_delete_at_once_is_named_and_waits(dsn: str, shop: Shop) -> None:
    """Retention goes by the times of records: what lay in an outbox for longer would be gone before readers must have come by."""
    put_at(dsn, shop.audit, "now()", "now() - interval '7 days 1 minute'", "now()")
    one = shipper(dsn, shop)
    assert one.ship() == 1
    with pytest.raises(
        RowRefused, match=r"row id=2 .* longer ago than retention\.ms of the topic, 604800000"
    ):
        one.ship()
    with Cluster(shop.bootstrap) as cluster:
        Admin(cluster).set_topic_settings(shop.audit, {"retention.ms": "-1"})
    wait(lambda: shipped(one) == 2)
    assert values(shop, shop.audit) == [0, 1, 2]


def test_rows_that_no_topic_deletes_by_their_time_are_shipped(dsn: str, shop: Shop) -> None:
    """By the broker's clock a record is new; and where none is of 1970 or later, retention goes by the time of the file."""
    stamped = f"stamped-{shop.number}"
    create_topic(shop.bootstrap, stamped, configs={"message.timestamp.type": "LogAppendTime"})
    put_at(dsn, stamped, "to_timestamp(0.001)", MOON)
    put_at(dsn, shop.audit, MOON, CAESAR)
    assert shipper(dsn, shop).ship() == 4
    assert values(shop, stamped) == values(shop, shop.audit) == [0, 1]


def tells_nothing(*_: object) -> dict[str, str]:
    return {}


def ship_all(one: Shipper, counts: list[int]) -> None:
    while count := one.ship():
        counts.append(count)


@pytest.mark.parametrize("may_ask", [True, False])
def test_rows_are_small_enough_one_by_one_and_go_in_batches_that_fit(
    dsn: str, shop: Shop, monkeypatch: pytest.MonkeyPatch, may_ask: bool
) -> None:
    if not may_ask:
        monkeypatch.setattr(Admin, "values_of_topics", tells_nothing)
    small = f"small-{shop.number}"
    create_topic(shop.bootstrap, small, configs=SMALL)
    with psycopg.connect(dsn) as connection:
        for number in range(40):
            connection.execute(
                "INSERT INTO outbox (topic, value) VALUES (%s, %s)", (small, b"%01500d" % number)
            )
    one = shipper(dsn, shop)
    counts: list[int] = []
    ship_all(one, counts)
    assert (counts == [40]) == may_ask
    assert values(shop, small) == list(range(40))


def test_a_limit_that_was_raised_is_noticed(dsn: str, shop: Shop) -> None:
    small = f"small-{shop.number}"
    create_topic(shop.bootstrap, small, configs=SMALL)
    with psycopg.connect(dsn) as connection:
        connection.execute("INSERT INTO outbox (topic, value) VALUES (%s, %s)", (small, b"%03000d" % 5))
    one = shipper(dsn, shop)
    with pytest.raises(
        RowRefused, match=r"MESSAGE_TOO_LARGE, 3000 bytes and max\.message\.bytes of the topic is 2000"
    ):
        one.ship()
    with Cluster(shop.bootstrap) as cluster:
        Admin(cluster).set_topic_settings(small, {"max.message.bytes": "4000"})
    wait(lambda: shipped(one) == 1)
    assert values(shop, small) == [5]


def shipped(one: Shipper) -> int:
    """0 while the row is refused: a setting takes a moment to be in force."""
    try:
        return one.ship()
    except RowRefused:
        return 0


def test_a_run_waits_for_a_missing_topic_and_ends_at_a_row_that_is_refused_for_good(
    dsn: str, shop: Shop, caplog: pytest.LogCaptureFixture
) -> None:
    late = f"late-{shop.number}"
    insert(dsn, late, 0, 1)
    with psycopg.connect(dsn) as connection:
        connection.execute("INSERT INTO outbox (topic, value) VALUES ('what is this?', 'x')")
    one = shipper(dsn, shop)
    ended: list[Exception] = []

    def work() -> None:
        try:
            one.run(idle_s=0.01)
        except RowRefused as fault:
            ended.append(fault)

    working = threading.Thread(target=work)
    working.start()
    wait(lambda: f"topic '{late}' cannot be shipped" in caplog.text)
    create_topic(shop.bootstrap, late)
    working.join(60)
    assert not working.is_alive()
    assert [fault.error for fault in ended if isinstance(fault, RowRefused)] == [
        ErrorCode.INVALID_TOPIC_EXCEPTION
    ]
    assert values(shop, late) == [0]


def test_another_refusal_is_not_blamed_on_a_row(
    dsn: str, shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise RefusedByBroker(ErrorCode.CLUSTER_AUTHORIZATION_FAILED, "Produce", "a broker")

    insert(dsn, shop.orders, 0, 3)
    with monkeypatch.context() as patched:
        patched.setattr(BatchWriter, "flush", refuse)
        with pytest.raises(RefusedByBroker, match="CLUSTER_AUTHORIZATION_FAILED"):
            shipper(dsn, shop).ship()
    assert shipper(dsn, shop).ship() == 3


# kill -9

SCRIPT = """
import sys
from oncelog.client.cluster import Cluster
from oncelog.postgres.outbox import Shipper
dsn, bootstrap, name, topic = sys.argv[1:]
Shipper(dsn, Cluster(bootstrap), transactional_id=name, progress_topic=topic, rows_at_once=7).run(idle_s=0.01)
"""


@pytest.mark.timeout(180)
def test_kills_of_the_shipper_while_rows_come(dsn: str, shop: Shop) -> None:
    """kill -9 at random moments, the broker restarted twice and the group's offsets forgotten, while an application inserts."""
    rows, dice = 600, random.Random(5)
    stop = threading.Event()

    def feed() -> None:
        for first in range(0, rows, 5):
            insert(dsn, shop.orders, first, 5)
        stop.set()

    feeding = threading.Thread(target=feed)
    feeding.start()
    kills = 0
    deadline = time.monotonic() + 150
    while not (stop.is_set() and len(shop.read(shop.orders)) >= rows) and time.monotonic() < deadline:
        process = subprocess.Popen(
            [sys.executable, "-c", SCRIPT, dsn, shop.bootstrap, shop.transactional_id, shop.positions],
            env={"PYTHONPATH": str(ROOT / "src"), "PATH": "/usr/bin:/bin"},
            stderr=subprocess.DEVNULL,
        )
        before = len(shop.read(shop.orders))
        while (
            len(shop.read(shop.orders)) == before and process.poll() is None and time.monotonic() < deadline
        ):
            if stop.is_set() and before >= rows:
                break
            time.sleep(0.02)
        time.sleep(dice.random() * 0.3)
        process.kill()
        process.wait()
        kills += 1
        if kills in (3, 6):
            shop.broker.restart()
        if kills % 2:
            with Cluster(shop.bootstrap) as cluster:
                TransactionalId(cluster, shop.transactional_id).init()
                Admin(cluster).delete_offsets(shop.transactional_id, [TopicPartition(shop.positions, 0)])
    feeding.join()
    assert values(shop) == list(range(rows))
    assert kills >= 3


def test_a_broker_that_goes_away_is_waited_for(dsn: str, shop: Shop) -> None:
    insert(dsn, shop.orders, 0, 20)
    over = threading.Event()
    shipped: list[int] = []
    one = shipper(dsn, shop, rows_at_once=20)
    working = threading.Thread(target=lambda: shipped.append(one.run(idle_s=0.01, until=over.is_set)))
    working.start()
    try:
        wait(lambda: values(shop) == list(range(20)))
        if isinstance(shop.broker, Oracle):
            shop.broker.stop()
        else:
            shop.broker.kill()
        insert(dsn, shop.orders, 20, 20)
        time.sleep(0.5)  # it finds nobody
        assert working.is_alive()
        shop.broker.start()
        wait(lambda: values(shop) == list(range(40)))
    finally:
        over.set()
        working.join(60)
    assert not working.is_alive()
    assert shipped == [40]


def test_a_database_that_goes_away_is_waited_for(database: Database, dsn: str, shop: Shop) -> None:
    insert(dsn, shop.orders, 0, 20)
    over, inside = threading.Event(), threading.Event()
    shipped: list[int] = []
    # It dies while a transaction is open in the broker too.
    one = shipper(dsn, shop, rows_at_once=20, reached=lambda _: inside.set())
    working = threading.Thread(target=lambda: shipped.append(one.run(idle_s=0.01, until=over.is_set)))
    working.start()
    try:
        assert inside.wait(60)
        database.kill()
        database.start()
        insert(dsn, shop.orders, 20, 20)
        wait(lambda: values(shop) == list(range(40)))
    finally:
        over.set()
        working.join(60)
    assert not working.is_alive()
    assert shipped == [40]


def wait(condition: Callable[[], bool], *, limit_s: float = 60.0) -> None:
    deadline = time.monotonic() + limit_s
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.mark.parametrize("step", STEPS)
def test_a_fault_that_may_pass_is_followed_by_another_try(dsn: str, shop: Shop, step: str) -> None:
    insert(dsn, shop.orders, 0, 20)
    faults: list[Exception] = [Unreachable("gone"), TimedOut("slow"), psycopg.OperationalError("away")]

    def fail(reached: str) -> None:
        if reached == step and faults:
            raise faults.pop(0)

    one = shipper(dsn, shop, reached=fail)
    one.run(idle_s=0.01, until=lambda: len(values(shop)) >= 20)
    assert values(shop) == list(range(20))


@pytest.mark.parametrize("fault", [Unreachable("gone"), psycopg.OperationalError("away")])
def test_nobody_for_too_long_is_a_fault(dsn: str, monkeypatch: pytest.MonkeyPatch, fault: Exception) -> None:
    tries: list[float] = []

    def ship(_: Shipper) -> int:
        tries.append(time.monotonic())
        raise fault

    monkeypatch.setattr(Shipper, "ship", ship)
    nobody = Shipper(dsn, Cluster("127.0.0.1:1"), transactional_id="nobody", progress_topic="none")
    with pytest.raises(type(fault)):
        nobody.run(patience_s=1.0)
    pauses = [after - before for before, after in itertools.pairwise(tries)]
    assert len(pauses) == 3  # 0.1, 0.2 and 0.4 s; another 0.8 would be too long
    assert pauses == sorted(pauses)


def test_a_successor_ends_the_run_at_once(dsn: str, shop: Shop) -> None:
    one = shipper(dsn, shop)
    one.open()
    shipper(dsn, shop).open()
    insert(dsn, shop.orders, 0, 3)
    with pytest.raises(Fenced):
        one.run(patience_s=60.0)
    assert values(shop) == []
