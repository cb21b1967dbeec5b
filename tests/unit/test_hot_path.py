"""Decision 0021: what the short ways of the hot path leave out changes no answer and no file."""

import asyncio
import gc
import struct
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.hot_path import CASES, Client, measure
from oncelog.broker.context import Context
from oncelog.broker.handlers import produce
from oncelog.broker.ring import SORTED_AT
from oncelog.broker.runtime import Runtime
from oncelog.engine.classic.partition import ClassicPartition
from oncelog.engine.port import Appended
from oncelog.model import Acks, Millis
from oncelog.protocol.header import read_request_header, request_frame
from oncelog.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from oncelog.record.batch import NewRecord, build_batch
from oncelog.record.crc import crc32c
from oncelog.server.main import Options, Server, as_asyncio
from oncelog.sim.loop import VirtualLoop
from oncelog.tasks import Future, begun, spawn
from tests.classic_world import World

LARGEST_STEPS = (
    10_600  # of a transaction with CPython 3.11, when its code is warm; 13,900 before the short ways
)
LARGEST_TRACE_STEPS = (
    210  # of them for the record of its two requests; more than 300 when they were noted first
)
TRANSACTION = CASES["transaction of 10 records of 1 KB"]


@pytest.mark.skipif(sys.version_info[:2] != (3, 11), reason="the bytecode of another version has other steps")
def test_a_transaction_takes_no_more_steps_than_when_this_was_written() -> None:
    found = asyncio.run(measure(TRANSACTION, turns=40))
    assert 1000 < found["steps"] < LARGEST_STEPS


def test_keeping_the_requests_takes_at_most_3_percent_of_the_steps_of_a_transaction() -> None:
    """Of as many transactions as have requests for one sorting into rings, so that it is counted too."""
    kept, without = (
        asyncio.run(
            measure(
                TRANSACTION, turns=40, settings={"transaction.trace.requests": each}, counted=SORTED_AT // 2
            )
        )["steps"]
        for each in ("64", "0")
    )
    assert 100 < kept - without <= LARGEST_TRACE_STEPS
    assert kept / without <= 1.03


def test_no_request_leaves_a_cycle_behind(tmp_path: Path) -> None:
    """The collector looks only every 20,000 objects (server/main.py), so nothing may wait for it."""

    async def run() -> int:
        server = Server(Options(data_dir=str(tmp_path), listen_port=0))
        await server.start()
        await as_asyncio(spawn(server.loop, _topic(server)))
        client = Client(server, 0, TRANSACTION)
        await client.begin()
        _transaction(client)
        gc.collect()
        gc.disable()
        try:
            for _ in range(20):
                _transaction(client)
            return gc.collect()
        finally:
            gc.enable()
            await server.stop()

    assert asyncio.run(run()) == 0


async def _topic(server: Server) -> None:
    await server.engine.create_topic("topic", 12, {})


def _transaction(client: Client) -> None:
    client.ask(client.produce())
    client.produced()
    client.ask(client.end())
    client.ended()


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 400_000), st.integers(0, 400)), min_size=5, max_size=20),
    st.sampled_from([12, 36, 10_000]),
    st.sampled_from([0, 100_000, 1_000_000]),
    st.sampled_from([300, 100_000]),
)
def test_a_segment_that_is_not_asked_would_have_said_that_it_is_not_full(
    appends: list[tuple[int, int]], index_bytes: int, interval: int, segment_ms: int
) -> None:
    config = {
        "segment.bytes": str(1 << 20),
        "segment.index.bytes": str(index_bytes),
        "index.interval.bytes": str(interval),
        "segment.ms": str(segment_ms),
        "message.timestamp.after.max.ms": str(2**60),
    }
    bases: list[list[int]] = []
    for is_always_asked in (False, True):
        world = World(durability="process").start()
        topic = world.run(world.engine.create_topic("t", 1, config))
        partition = topic.partitions[0]
        assert isinstance(partition, ClassicPartition)
        at = int(world.clock.wall_ms())
        for size, later in appends:
            at += later
            if is_always_asked:
                partition.set_config(partition.config)  # forgets what is known of the active segment
            batch = build_batch([NewRecord(None, bytes(size), Millis(at))])
            assert isinstance(world.run(partition.append(batch, acks=Acks.ALL)), Appended)
        bases.append([segment.base_offset for segment in partition.segments])
    assert bases[0] == bases[1]


def test_one_partition_is_answered_as_many_are(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The same requests to two brokers, the short way and the long one: the same answers, bit for bit."""
    now = int(time.time() * 1000)
    short = asyncio.run(_answers(tmp_path / "short", now))
    monkeypatch.setattr(produce, "_one", _as_many)
    assert asyncio.run(_answers(tmp_path / "long", now)) == short
    assert len(set(short)) > 6  # they do differ from each other


@pytest.mark.parametrize("version", range(3, 14))
@pytest.mark.parametrize("name", ["t", "x" * 126, "y" * 127, "\u00fc" * 80])
def test_the_answer_for_one_batch_has_the_bytes_of_the_general_form(version: int, name: str) -> None:
    partition = PartitionProduceData(index=70_000, records=b"")
    asked = TopicProduceData(
        name="" if version >= 13 else name, topic_id=bytes(range(16)), partition_data=[partition]
    )
    for time_ms in (-1, 1_700_000_000_000):
        answer = produce.OneAppended(asked, Appended(1 << 40, 1 << 41, time_ms, 3))
        short, general = bytearray(b"head"), bytearray(b"head")
        answer.write(short, version)
        answer.general().write(general, version)
        assert short == general


async def _as_many(request: ProduceRequest, context: Context, broker: Runtime) -> Any:
    return (await produce._many(request, context, broker))[0][0]  # pyright: ignore[reportPrivateUsage]


async def _answers(directory: Path, now: int) -> list[bytes]:
    """Of Produce requests for one partition, good ones and bad ones, in all versions from 8 to 12."""
    server = Server(Options(data_dir=str(directory), listen_port=0))
    await server.start()
    await as_asyncio(spawn(server.loop, _topic(server)))
    said: list[bytes] = []
    for version in range(8, 13):
        client = Client(server, version, TRANSACTION, now)
        await client.begin()
        for change in CHANGES:
            kept = client.producer_epoch, client.sequence
            frame = client.produce()
            request = ProduceRequest.decode(frame, 12, read_request_header(frame).body_at)
            request.topic_data[0].partition_data[0].index = version - 8
            change(request)
            client.answered.clear()
            client.ask(bytes(request_frame(0, version, 1, "bench", request))[4:])
            await client.answered.wait()
            client.producer_epoch, client.sequence = kept
            said.append(client.answers.pop())
    await server.stop()
    return said


def _batch(request: ProduceRequest) -> bytearray:
    return bytearray(request.topic_data[0].partition_data[0].records or b"")


def _with_batch(change: Callable[[bytearray], None]) -> Callable[[ProduceRequest], None]:
    def run(request: ProduceRequest) -> None:
        batch = _batch(request)
        change(batch)
        if len(batch) > 61:
            struct.pack_into(">I", batch, 17, crc32c(bytes(batch[21:])))
        request.topic_data[0].partition_data[0].records = bytes(batch)

    return run


def _set(name: str, value: Any) -> Callable[[ProduceRequest], None]:
    return lambda request: setattr(request, name, value)


def _no_records(request: ProduceRequest) -> None:
    request.topic_data[0].partition_data[0].records = None


def _elsewhere(request: ProduceRequest) -> None:
    request.topic_data[0].name = "nowhere"


CHANGES: Final[tuple[Callable[[ProduceRequest], None], ...]] = (
    _elsewhere,
    _no_records,
    _set("transactional_id", None),
    _set("transactional_id", "somebody else"),
    _set("acks", 3),
    _with_batch(lambda batch: batch.__setitem__(51, 0x40)),  # an epoch that nobody gave
    _with_batch(lambda batch: struct.pack_into(">q", batch, 43, -1)),  # transactional, of nobody
    _with_batch(lambda batch: batch.__setitem__(22, 0)),  # outside of a transaction
    _with_batch(lambda batch: struct.pack_into(">i", batch, 53, 7)),  # a gap
    _with_batch(lambda batch: batch.__delitem__(slice(40, None))),  # cut
    lambda request: None,  # noqa: ARG005  # as it should be
    lambda request: None,  # noqa: ARG005  # again: a duplicate
)


def test_a_task_of_a_begun_coroutine_goes_on_from_its_wait() -> None:
    loop = VirtualLoop(Random(0))
    first: Future[int] = Future()
    second: Future[int] = Future()

    async def work() -> int:
        return await first + await second

    coroutine = work()
    task = begun(loop, coroutine, coroutine.send(None))
    assert not task.done()
    first.set_result(1)
    loop.step()
    second.set_result(2)
    loop.step()
    assert task.result() == 3


@pytest.mark.skipif(sys.platform != "linux", reason="glibc has the switch")
def test_a_large_block_comes_back_without_page_faults() -> None:
    """In a process of its own, for the switch is malloc's."""
    program = """
import resource, sys
from oncelog.server.memory import keep_large_blocks
if sys.argv[1] == "kept":
    assert keep_large_blocks()
def run():
    kept = [bytes(65536) for _ in range(16)]
    return b"".join(kept)
run()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(20):
    run()
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""
    faults = {
        how: int(subprocess.check_output([sys.executable, "-c", program, how], text=True))
        for how in ("kept", "given back")
    }
    assert faults["kept"] < 100
    assert faults["given back"] > 1000  # else the switch is not needed any more
