"""Real clients, each through the same story: create, produce in every codec, share a group, resume, administer."""

from collections.abc import Generator
from contextlib import ExitStack, contextmanager

import pytest

from tests.conformance.client import Client, ClientFailed, Kind, by_partition, expected, numbered
from tests.conformance.kinds import KINDS
from tests.conformance.wire import batches
from tests.toolchains import Missing, leave_out

PARTITIONS = 3
PER_CODEC = 30
STORIES = [
    pytest.param(kind, protocol, id=f"{kind.name}-{protocol}")
    for kind in KINDS
    for protocol in kind.protocols
]


@contextmanager
def started(kind: Kind, bootstrap: str, count: int) -> Generator[list[Client]]:
    try:
        kind.command()
    except Missing as why:
        leave_out(f"the {kind.name} client", why)
    with ExitStack() as stack:
        yield [stack.enter_context(Client(kind, bootstrap)) for _ in range(count)]


class Story:
    """One topic and one group; it remembers what was sent."""

    def __init__(self, name: str, protocol: str, writer: Client) -> None:
        self.topic = f"story-{name}"
        self.group = f"group-{name}"
        self.protocol = protocol
        self.writer = writer
        self.sent: list[tuple[int, str, str]] = []
        self.offsets: dict[int, list[int]] = {partition: [] for partition in range(PARTITIONS)}

    def produce(self, codec: str, count: int = PER_CODEC) -> None:
        records = numbered(len(self.sent), count)
        acked = self.writer.ask(
            "produce", topic=self.topic, partitions=PARTITIONS, codec=codec, records=records
        )
        assert [partition for partition, _offset in acked] == [n % PARTITIONS for n, _, _ in records]
        for partition, offset in acked:
            self.offsets[partition].append(offset)
        self.sent += records

    def join(self, member: Client) -> None:
        member.ask("join", topic=self.topic, group=self.group, protocol=self.protocol)

    def wait_all_read(self, *members: Client) -> None:
        def done() -> bool:
            return sum(len(member.records()) for member in members) >= len(self.sent) and all(
                member.committed() for member in members
            )

        try:
            members[-1].wait(f"{len(self.sent)} records in the group", done)
        except ClientFailed as why:
            raise ClientFailed(
                "\n".join([str(why), *(member.summary() for member in members[:-1])])
            ) from None

    def check(self, *members: Client) -> None:
        """Exactly what was sent, in order within each partition, at the offsets that were acknowledged."""
        records = [record for member in members for record in member.records()]
        records.sort(key=lambda record: (record[0], record[1]))
        assert by_partition(records, PARTITIONS) == expected(self.sent, PARTITIONS)
        for partition, offsets in self.offsets.items():
            assert [record[1] for record in records if record[0] == partition] == offsets
        for member in members:
            for partition in range(PARTITIONS):
                told = [record[1] for record in member.records() if record[0] == partition]
                assert told == sorted(set(told)), (
                    f"{member.kind.name} was given {told} of partition {partition}"
                )


@pytest.mark.parametrize(("kind", "protocol"), STORIES)
def test_create_produce_group_rebalance_resume_and_admin(kind: Kind, protocol: str, bootstrap: str) -> None:
    with started(kind, bootstrap, 3) as (first, second, third):
        story = Story(f"{kind.name}-{protocol}", protocol, first)
        assert first.ask("create", topic=story.topic, partitions=PARTITIONS) == PARTITIONS
        for codec in kind.codecs:
            story.produce(codec)
        assert all(offsets == list(range(len(offsets))) for offsets in story.offsets.values())
        check_batches(bootstrap, story.topic, kind)

        # One member has everything; a second joins and takes over a part.
        story.join(first)
        first.wait("all partitions", lambda: first.assigned() == [0, 1, 2])
        story.wait_all_read(first)
        story.join(second)
        first.wait("shared partitions", lambda: shared(first, second))
        story.produce(kind.codecs[-1])
        story.wait_all_read(first, second)
        assert second.records(), "the second member was given nothing"
        assert {record[0] for record in second.records()} <= set(second.assigned())

        # The second leaves; the first has everything again.
        second.ask("leave")
        first.wait("all partitions again", lambda: first.assigned() == [0, 1, 2])
        story.produce(kind.codecs[0])
        story.wait_all_read(first, second)

        # Nobody is there for a while; a new process goes on where the group's offsets say.
        first.ask("leave")
        story.produce(kind.codecs[0])
        story.join(third)
        story.wait_all_read(first, second, third)
        assert len(third.records()) == PER_CODEC
        story.check(first, second, third)

        third.ask("leave")
        check_admin(kind, third.ask("admin", topic=story.topic, group=story.group), len(story.offsets[0]))


def shared(first: Client, second: Client) -> bool:
    ours, theirs = first.assigned(), second.assigned()
    return bool(ours) and bool(theirs) and sorted(ours + theirs) == [0, 1, 2]


def check_batches(bootstrap: str, topic: str, kind: Kind) -> None:
    """Every batch has a producer id and sequences (idempotence was on), and all asked codecs are there."""
    for partition in range(PARTITIONS):
        found = batches(bootstrap, topic, partition)
        assert sum(batch.count for batch in found) == len(kind.codecs) * PER_CODEC // PARTITIONS
        assert all(batch.producer_id >= 0 and batch.base_sequence >= 0 for batch in found)
        assert {batch.codec for batch in found} == set(kind.codecs)


def check_admin(kind: Kind, seen: dict[str, object], committed: int) -> None:
    wanted: dict[str, object] = {
        "retention": "604800000",
        "retention altered": "3600000",
        "deleted up to": 5,
        "earliest": 5,
        "partitions": 5,
        "group listed": True,
        "group state": "Empty",
        "group offset": committed,
        "group listed after": False,
        "topic listed after": False,
        "cluster nodes": 1,
    }
    assert seen == {name: value for name, value in wanted.items() if name not in kind.lacks}
