"""What one seed draws before anything runs: settings, clients, and which faults there are."""

from dataclasses import dataclass
from functools import cached_property
from random import Random
from typing import Final

from oncelog.sim.clients import TV0, TV1, TV2, Protocol
from oncelog.sim.net import Network

PAY, MAP, OLD, IN, OUT = "pay", "map", "old", "in", "out"
GROUP: Final = "copiers"
WORKERS: Final = "workers"
LARGE_SEGMENT_BYTES: Final = 8_192  # in smaller ones some batch would find no place


@dataclass(frozen=True, slots=True)
class Writer:
    """A transactional producer, or several instances after each other that share its id."""

    transactional_id: str
    protocol: Protocol
    transactions: int
    timeout_ms: int
    twin: bool  # a second instance appears while the first is at work
    old: bool  # the id has lived long: its epochs are nearly used up
    sleepy: float  # chance to sleep longer than the timeout, in the middle of a transaction


@dataclass(frozen=True)
class Plan:
    """All of it."""

    settings: dict[str, str]
    topics: dict[str, tuple[int, dict[str, str]]]  # name -> partitions, settings
    network: Network
    writers: tuple[Writer, ...]
    feeders: int  # producers of `in` that are only idempotent
    plain: bool  # and one that is not
    input_batches: int
    copiers: tuple[Protocol, ...]  # one for each partition of `in`
    crash_mean_ms: float  # between two crashes; 0 for none
    crashes: int  # at most
    power: bool  # crashes may be power cuts
    disk_full: bool
    sync_errors: bool
    clock_jumps: bool
    resets: bool
    slow_coordinator: (
        float  # chance that a step of the coordinator takes long, or a marker is lost on its way
    )
    admin: bool  # fences ids and sends markers of older epochs
    expiry: bool  # of producer ids or transactional ids: refusals for that reason are in order
    restarts: int = 0  # clean stops, at most
    slow_disk_ms: float = 4.0  # the longest that a sync, or other work beside the loop, takes
    deletes: bool = False  # an admin deletes records
    forgets: bool = False  # idle producers: then a batch asked for again may be written again
    ghosts: int = 0  # transactions that no coordinator knows, until an admin aborts them
    members: str = ""  # the kind of group that workers are in; none without
    workers: tuple[Protocol, ...] = ()
    rude: int = 0  # bad manners that are played
    narrow: bool = False  # the broker takes no records of some thousand bytes
    tenants: int = 0  # tales of groups without members
    two_phases: int = 0  # transactions that somebody else decides (KIP-939)
    late: int = 0  # tales of requests that come late
    write_errors: bool = False  # a write fails outright now and then: EIO
    large: float = 0.0  # chance that a batch has a value of one or two thousand bytes
    asks: float = 0.0  # chance that a writer looks at what others wrote near its own, and writes that on
    flips: int = 0  # single bits, each in a copy of what a clean stop left behind

    @cached_property
    def partitions(self) -> list[str]:
        return [f"{name}-{index}" for name, (count, _) in self.topics.items() for index in range(count)]


def draw(seed: int | str, profile: str = "core") -> Plan:
    rng = Random(f"plan {seed}")
    power = rng.random() < 0.75
    server_version = rng.choice([2, 2, 2, 2, 1, 0])
    guarded = rng.random() < 0.8
    expire_ids = rng.random() < 0.08
    expire_producers = rng.random() < 0.06
    settings = {
        "durability": "power" if power else "process",
        "log.segment.bytes": str(rng.choice([1024, 2048, 8192, 65536])),
        "log.index.interval.bytes": str(rng.choice([0, 200, 4096])),
        "log.flush.offset.checkpoint.interval.ms": str(rng.choice([50, 500, 60_000])),
        "log.cleaner.backoff.ms": str(rng.choice([60, 400, 5_000])),
        "log.cleaner.min.cleanable.ratio": "0.01",
        "log.cleaner.delete.retention.ms": str(rng.choice([0, 500, 86_400_000])),
        "log.retention.check.interval.ms": str(rng.choice([120, 500])),
        "log.segment.delete.delay.ms": str(rng.choice([0, 200, 60_000])),
        "transaction.version": str(server_version),
        "end.txn.reply": rng.choice(["complete", "prepared"]),
        "recovery.ongoing": "keep" if rng.random() < 0.85 else "abort",
        "transaction.late.requests.refuse": "true" if guarded else "false",
        "transaction.state.log.num.partitions": str(rng.randint(1, 2)),
        "transaction.state.log.segment.bytes": str(rng.choice([1024, 4096, 1_048_576])),
        # Dice of its own: whether the coordinator starts from checkpoints changes nothing else of a plan.
        "transaction.state.log.checkpoint.bytes": str(
            Random(f"checkpoint {seed}").choice([1, 2_000, 4_194_304])
        ),
        "offsets.topic.num.partitions": str(rng.randint(1, 2)),
        "offsets.topic.segment.bytes": str(rng.choice([1024, 4096, 1_048_576])),
        "transaction.abort.timed.out.transaction.cleanup.interval.ms": "150",
        "transaction.remove.expired.transaction.cleanup.interval.ms": "400",
        "transactional.id.expiration.ms": "1500" if expire_ids else "604800000",
        "producer.id.expiration.ms": "1500" if expire_producers else "86400000",
        "producer.id.expiration.check.interval.ms": "300",
        "group.min.session.timeout.ms": "100",
        "group.initial.rebalance.delay.ms": "20",
        "group.consumer.session.timeout.ms": "600",
        "group.consumer.heartbeat.interval.ms": "100",
    }
    topics: dict[str, tuple[int, dict[str, str]]] = {
        PAY: (rng.randint(1, 3), {}),
        IN: (rng.randint(1, 2), {}),
        OUT: (rng.randint(1, 2), {}),
    }
    if rng.random() < 0.6:
        topics[MAP] = (1, {"cleanup.policy": "compact", "segment.bytes": "1024"})
    if rng.random() < 0.5:
        topics[OLD] = (1, {"retention.bytes": str(rng.choice([2048, 6000])), "segment.bytes": "1024"})

    def protocol() -> Protocol:
        if server_version == 2 and rng.random() < 0.6:
            return TV2
        return TV1 if rng.random() < 0.7 else TV0

    count = rng.randint(1, 4)
    writers = tuple(
        Writer(
            transactional_id=f"w{number}",
            protocol=protocol(),
            transactions=rng.randint(5, 15),
            timeout_ms=rng.choice([400, 1_000, 4_000]),
            twin=rng.random() < 0.35,
            old=rng.random() < 0.1,
            sleepy=rng.choice([0.0, 0.0, 0.1]),
        )
        for number in range(count)
    )
    copiers = tuple(protocol() for _ in range(topics[IN][0]))
    # Without the guard the classic protocol cannot tell a late copy from the request itself (KAFKA-17754).
    may_stall = guarded or all(each is TV2 for each in (*(writer.protocol for writer in writers), *copiers))
    bad_network = rng.random() < 0.6
    network = Network(
        delay_ms=rng.choice([0.3, 1.0, 5.0]),
        cut=0.2,
        stall=rng.choice([0.0, 0.01, 0.04]) if bad_network and may_stall else 0.0,
        stall_ms=(500.0, rng.choice([3_000.0, 8_000.0])),
        lose_reply=rng.choice([0.0, 0.02, 0.05]) if bad_network else 0.0,
        reset=rng.choice([0.0, 0.02, 0.05]) if bad_network else 0.0,
    )
    more = Random(f"more {seed}")  # dice of its own: what came later changes nothing of the rest
    ghosts = Random(f"ghosts {seed}").choice([0] * 9 + [2]) if not expire_producers else 0
    new = Random(f"new {seed}")
    rude = new.choice([0, 0, 3]) if not (expire_ids or expire_producers) else 0
    narrow = rude > 0 and new.random() < 0.3
    tenants = new.choice([0, 0, 3]) if not expire_ids else 0
    prepared = new if settings["recovery.ongoing"] == "keep" else Random(f"prepared {seed}")
    drawn = prepared.choice([0, 0, 0, 2]) if server_version == 2 else 0
    elsewhere = Random(f"elsewhere {seed}")  # dice of its own, as those of `large`
    two_phases = drawn if server_version == 2 else elsewhere.choice([0, 0, 2])
    large = Random(f"large {seed}").choice([0.0, 0.4])
    if narrow or int(settings["log.segment.bytes"]) < LARGE_SEGMENT_BYTES:
        large = 0.0
    tombstones = Random(f"tombstones {seed}")
    if expire_ids and tombstones.random() < 0.6:
        # What tells that an id is gone goes soon itself, and the last checkpoint is older.
        settings["transaction.state.log.checkpoint.bytes"] = tombstones.choice(["4000", "8000"])
        settings["transaction.state.log.segment.bytes"] = "1024"
        settings["log.cleaner.delete.retention.ms"] = "0"
        settings["log.cleaner.backoff.ms"] = "60"
    if narrow:
        settings["message.max.bytes"] = "6000"
    if two_phases:
        settings["transaction.two.phase.commit.enable"] = "true"
        if guarded and not ghosts:
            network.late_init = elsewhere.choice([0.0, 0.1])
    if may_stall and not ghosts:
        network.late_end = new.choice([0.0, 0.0, 0.0, 0.06])
    late = Random(f"late {seed}").choice([0, 0, 0, 0, 0, 3])
    if not guarded or expire_ids or expire_producers or ghosts:
        late = 0
    if ghosts:  # as before KIP-890: and then a late request, or a zombie whose epoch was forgotten, would make one too
        settings["transaction.partition.verification.enable"] = "false"
        network.stall = 0.0
    return Plan(
        settings=settings,
        topics=topics,
        network=network,
        writers=writers,
        feeders=rng.randint(1, 2),
        plain=rng.random() < 0.3,
        input_batches=rng.randint(5, 16),
        copiers=copiers,
        crash_mean_ms=rng.choice([0.0, 60.0, 150.0, 400.0]) if profile != "calm" else 0.0,
        crashes=rng.choice([4, 5, 8]),
        power=power,
        disk_full=rng.random() < 0.1,
        sync_errors=power and rng.random() < 0.1,
        clock_jumps=rng.random() < 0.15,
        resets=rng.random() < 0.5,
        slow_coordinator=rng.choice([0.0, 0.0, 0.05]),
        admin=rng.random() < 0.25,
        expiry=expire_ids or expire_producers,
        restarts=more.choice([0, 0, 0, 2, 6]),
        slow_disk_ms=more.choice([4.0, 4.0, 4.0, 4.0, 20.0, 90.0]),
        deletes=more.random() < 0.2,
        large=large,
        asks=Random(f"asks {seed}").choice([0.0, 0.0, 0.3]),
        flips=more.choice([0] * 9 + [4]),
        forgets=expire_producers,
        ghosts=ghosts,
        rude=rude,
        narrow=narrow,
        tenants=tenants,
        two_phases=two_phases,
        late=late,
        write_errors=Random(f"write errors {seed}").random() < 0.08,
        members=(kind := more.choice(["", "", "classic", "next"])),
        workers=tuple(
            TV2 if server_version == 2 and more.random() < 0.6 else TV1
            for _ in range(more.randint(2, 3) if kind else 0)
        ),
    )
