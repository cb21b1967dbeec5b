"""Groups without members, whose offsets one client commits, plainly and in transactions, and whom it deletes again.

One step after the other and nobody else, so that what a group's position must be is known at every step. Whatever was left
without an answer ends the tale, and another group begins.
"""

from contextlib import suppress
from random import Random
from typing import Final

from oncelog.errors import ErrorCode
from oncelog.protocol.messages.delete_groups import DeleteGroupsRequest, DeleteGroupsResponse
from oncelog.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)
from oncelog.sim.clients import AGAIN, TV1, TV2, UNCLEAR, Defect, Fenced, MustAbort, Producer, fetch_offsets
from oncelog.sim.history import History
from oncelog.sim.net import Unreachable
from oncelog.sim.plan import IN
from oncelog.sim.world import World

E = ErrorCode
AT: Final = f"{IN}-0"
NOWHERE: Final = -1
TOO_LONG: Final = "m" * 5_000  # offset.metadata.max.bytes is 4096


class Tenant:
    """Tells tales of groups, one after the other."""

    def __init__(
        self,
        world: World,
        history: History,
        rng: Random,
        partitions: int,
        *,
        tv2: bool,
        copies_refused: bool,
    ) -> None:
        self.world = world
        self.history = history
        self.rng = rng
        self.partitions = partitions  # of IN
        self.told = 0  # to the end
        self._tv2 = tv2
        self._copies_refused = copies_refused
        self._count = 0

    async def tell(self) -> None:
        self._count += 1
        name = f"tenant{self._count}"
        protocol = TV2 if self._tv2 and self.rng.random() < 0.6 else TV1
        producer = Producer(self.world, self.history, self.rng, name, name, protocol)
        tales = [self._evicted, self._evicted_in_a_transaction, self._late_end, self._too_long]
        if not self._copies_refused:
            tales.remove(
                self._late_end
            )  # a late copy of the first offset would be the later one, as in Kafka
        tale = self.rng.choice(tales)
        with suppress(Fenced, MustAbort, Unreachable):
            await producer.init()
            await tale(producer, name)
            self.told += 1
        producer.session.leave()

    async def _evicted(self, producer: Producer, group: str) -> None:
        """A deleted group has no offsets, and a new one of its name has its own (V108)."""
        await self._commit(producer, group, 5)
        await self._position(producer, group, 5)
        await self._delete(producer, group)
        await self._position(producer, group, NOWHERE)
        await self._in_transaction(producer, group, 3)
        await producer.end(commit=True)
        await self._position(producer, group, 3)
        await self._delete(producer, group)
        await self._position(producer, group, NOWHERE)

    async def _evicted_in_a_transaction(self, producer: Producer, group: str) -> None:
        """What waits for a transaction goes with the group: its COMMIT brings nothing back (R10)."""
        if self.rng.random() < 0.5:
            await self._commit(producer, group, 2)
        await self._in_transaction(producer, group, 7)
        await self._delete(producer, group)
        await producer.end(commit=True)
        await self._position(producer, group, NOWHERE)

    async def _late_end(self, producer: Producer, group: str) -> None:
        """Of an offset in a transaction and a plain one behind it the later one counts, whenever the end comes (TRAP-33)."""
        await self._in_transaction(producer, group, 7)
        await self._commit(producer, group, 9)
        commit = self.rng.random() < 0.7
        await producer.end(commit=commit)
        await self._position(producer, group, 9)
        await self._in_transaction(producer, group, 4)
        await producer.end(commit=commit)
        await self._position(producer, group, 4 if commit else 9)

    async def _too_long(self, producer: Producer, group: str) -> None:
        """Metadata that is too long for one partition spoils no other (B10)."""
        found = await self._ask_to_commit(producer, group, {0: (5, ""), self.partitions - 1: (6, TOO_LONG)})
        if found is None:
            return
        wanted = {0: E.NONE, self.partitions - 1: E.OFFSET_METADATA_TOO_LARGE}
        if found != wanted:
            raise Defect(f"offsets with too long metadata for one partition were answered {found}")
        if self.partitions > 1:
            await self._position(producer, group, 5)

    # Steps

    async def _in_transaction(self, producer: Producer, group: str, offset: int) -> None:
        producer.begin()
        await producer.send_offsets(group, {AT: offset})

    async def _commit(self, producer: Producer, group: str, offset: int) -> None:
        found = await self._ask_to_commit(producer, group, {0: (offset, "")})
        if found is not None and set(found.values()) != {E.NONE}:
            raise Defect(f"OffsetCommit of {group} was answered {found}")

    async def _ask_to_commit(
        self, producer: Producer, group: str, offsets: dict[int, tuple[int, str]]
    ) -> dict[int, ErrorCode] | None:
        """Asked until it is answered: the same again does no harm. None if it changes nothing for now."""
        request = OffsetCommitRequest(
            group_id=group,
            generation_id_or_member_epoch=-1,
            topics=[
                OffsetCommitRequestTopic(
                    name=IN,
                    partitions=[
                        OffsetCommitRequestPartition(
                            partition_index=index, committed_offset=offset, committed_metadata=metadata
                        )
                        for index, (offset, metadata) in offsets.items()
                    ],
                )
            ],
        )
        for _ in range(20):
            answer: OffsetCommitResponse = await producer.session.ask(
                8, 7, request, OffsetCommitResponse, "group"
            )
            found = {part.partition_index: E(part.error_code) for part in answer.topics[0].partitions}
            if not set(found.values()) & (AGAIN | UNCLEAR):
                return found
            await producer.session.rest()
        raise Unreachable("gave up")

    async def _delete(self, producer: Producer, group: str) -> None:
        unclear = False
        for _ in range(20):
            answer: DeleteGroupsResponse = await producer.session.ask(
                42, 1, DeleteGroupsRequest(groups_names=[group]), DeleteGroupsResponse, "group"
            )
            error = E(answer.results[0].error_code)
            if error is E.NONE or (unclear and error is E.GROUP_ID_NOT_FOUND):
                return
            unclear = unclear or error in UNCLEAR
            if error not in AGAIN | UNCLEAR:
                raise Defect(f"DeleteGroups of {group} was answered {error.name}")
            await producer.session.rest()
        raise Unreachable("gave up")

    async def _position(self, producer: Producer, group: str, wanted: int) -> None:
        found = await fetch_offsets(producer.session, History(), producer.process, group, [AT])
        if found is not None and found.offsets[AT] != wanted:
            raise Defect(f"{group} stands at {found.offsets[AT]}, wanted {wanted}")
