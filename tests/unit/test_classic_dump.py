"""FMT-6: Kafka's own DumpLogSegments reads every file of the classic engine without complaint."""

from pathlib import Path

import pytest

from oncelog.engine.port import Appended
from oncelog.record.batch import NewRecord, build_batch
from tests.classic_world import World
from tests.oracle import complaints, dump_log
from tests.oracle.jars import fetch
from tests.toolchains import Missing, java, leave_out

CODECS = {"none": 0, "gzip": 1, "snappy": 2, "lz4": 3, "zstd": 4}


@pytest.fixture(scope="module", autouse=True)
def tools() -> None:
    try:
        java()
        fetch()
    except (Missing, RuntimeError) as why:
        leave_out("Kafka's DumpLogSegments", why)


def fill(world: World, *, keys: bool) -> None:
    part = world.part()
    for at in range(40):
        records = [
            NewRecord(
                b"key-%d" % (at % 5) if keys else None,
                b"value-%d" % at * 20,
                world.clock.wall_ms(),
                [("h", b"1")],
            )
            for _ in range(3)
        ]
        codec = list(CODECS.values())[at % 5]
        assert isinstance(world.send(build_batch(records, codec=codec)), Appended)
        for producer_id in (1, 2):
            world.put_verified(
                build_batch(
                    records,
                    codec=codec,
                    producer_id=producer_id,
                    producer_epoch=0,
                    base_sequence=at * 3,
                    transactional=True,
                )
            )
        world.settle(5)
        if at % 4 == 3:
            for producer_id in (2, 1):
                marker = part.append_marker(
                    producer_id=producer_id,
                    producer_epoch=0,
                    coordinator_epoch=at,
                    commit=(at + producer_id) % 3 == 0,
                    transaction_version=1,
                )
                assert isinstance(world.run(marker), Appended)


def dumped(directory: Path, *, gaps: bool = False) -> tuple[str, list[str]]:
    """What the tool said, and its complaints. It calls the start of every segment but the first a gap: that is no
    complaint, nor are gaps where the cleaner was.
    """
    files = [
        path
        for path in sorted(directory.iterdir())
        if path.suffix in (".log", ".index", ".timeindex", ".txnindex", ".snapshot")
    ]
    assert {path.suffix for path in files} == {".log", ".index", ".timeindex", ".txnindex", ".snapshot"}
    text = dump_log(*files, options=("--print-data-log", "--deep-iteration", "--verify-index-only"))
    more = dump_log(*files, options=("--print-data-log", "--deep-iteration"))
    said = complaints(text + more)
    said = [line for line in said if not line.startswith("Non-consecutive offsets")]
    followed = [line for line in (text + more).splitlines() if " is followed by " in line]
    said += [line for line in followed if not (gaps or line.strip().startswith("-1 "))]
    return text + more, said


def test_fmt_6_after_a_clean_stop_after_recovery_and_after_cleaning(tmp_path: Path) -> None:
    world = World.on(str(tmp_path)).start()
    world.topic(
        configs={"segment.bytes": "8192", "index.interval.bytes": "500", "cleanup.policy": "compact,delete"},
    )
    fill(world, keys=True)
    aborted = [entry for segment in world.part().segments for entry in segment.aborted()]
    world.stop()
    text, found = dumped(tmp_path / "t-0")
    assert not found
    for entry in aborted:
        assert (
            f"producerId: {entry.producer_id} firstOffset: {entry.first_offset} lastOffset: {entry.last_offset} "
            f"lastStableOffset: {entry.last_stable_offset}\n"
        ) in text
    assert len(aborted) > 5
    assert "isTransactional: true" in text
    assert "endTxnMarker: ABORT" in text
    assert "producerId: 1" in text
    world.again()
    world.again()  # no stop before: this one recovers
    world.stop()
    assert not dumped(tmp_path / "t-0")[1]
    world.again()
    world.run(world.engine.run_cleaner("t", 0))
    size = world.part().size_bytes
    world.stop()
    assert not dumped(tmp_path / "t-0", gaps=True)[1]
    assert size < 8192 * 3
