"""The last requests of each transactional id, kept as they were on the wire: what `oncelog txn trace` and the page's lanes read.

Nothing is formatted here: a request costs a place in a ring, references to bytes that exist anyway, and three numbers. Only of
a large Produce a copy is made, of its beginning and of the headers of its batches, so that its records are not kept alive.
All of it is bounded: ids, requests of each, and bytes; the id that was quiet for longest goes first.
"""

from collections import OrderedDict, deque
from collections.abc import Callable, Iterator
from typing import Any, Final

from oncelog.protocol.header import read_request_header, request_frame
from oncelog.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from oncelog.record.batch import HEADER_BYTES

PRODUCE: Final = 0
ADD_PARTITIONS: Final = 24
TRACED: Final = frozenset({PRODUCE, 22, ADD_PARTITIONS, 25, 26, 28})
SMALL_BYTES: Final = 1024  # a Produce up to here is kept whole
WHOLE_BYTES: Final = 8192  # as is any other request, and every answer, up to here
KEPT_BYTES: Final = 464  # of what is larger: its beginning, in one of Python's small blocks
BEFORE_BATCH_BYTES: Final = (
    400  # with no more than this around its one batch, the batch's header is in the beginning
)
ENTRY_BYTES: Final = 500  # about what Python needs for one entry besides its bytes
SAME_CLOCK_NS: Final = 2_000_000

# Of each partition: topic name, topic id, index, and the header of its batch.
Cut = list[tuple[str, bytes, int, bytes | None]]


class Entry:
    """One request. `took_ns` is -1 while it is under way; then, or if its connection broke, there is no answer."""

    __slots__ = ("answer", "answer_bytes", "began_ns", "cut", "frame", "frame_bytes", "number", "peer", "size", "took_ns", "wall_ms")  # fmt: skip

    def __init__(
        self,
        number: int,
        wall_ms: int,
        began_ns: int,
        peer: tuple[str, int],
        frame: bytes,
        frame_bytes: int,
        cut: Cut | None,
        size: int,
    ) -> None:
        self.number = number
        self.wall_ms = wall_ms
        self.began_ns = began_ns
        self.took_ns = -1
        self.peer = peer
        self.frame = frame
        self.frame_bytes = frame_bytes
        self.cut = cut
        self.answer: bytes | bytearray | None = None
        self.answer_bytes = 0
        self.size = size  # what it counts of the ring's bytes; 0 when the ring has let it go


class Ring:
    """Requests by transactional id, newest last. `begin` and `end` are on the path of every transactional request."""

    def __init__(self, wall_ms: Callable[[], int], *, ids: int, requests: int, limit_bytes: int) -> None:
        self._wall_ms = wall_ms
        self._ids = ids
        self._requests = requests
        self._limit_bytes = limit_bytes
        self._rings: OrderedDict[str, deque[Entry]] = OrderedDict()
        self._number = 0
        self.bytes = 0

    def __len__(self) -> int:
        """How many ids it knows something of."""
        return len(self._rings)

    def begin(
        self, api_key: int, frame: bytes, request: Any, peer: tuple[str, int], began_ns: int
    ) -> Entry | None:
        """Notes a request whose key is in TRACED; None if it belongs to no transactional id."""
        if api_key == ADD_PARTITIONS:
            transactional_id = request.v3_and_below_transactional_id
            if not transactional_id and request.transactions:
                transactional_id = request.transactions[0].transactional_id
        else:
            transactional_id = request.transactional_id
        if not transactional_id:
            return None
        cut: Cut | None = None
        frame_bytes = size = len(frame)
        if size > SMALL_BYTES and (api_key == PRODUCE or size > WHOLE_BYTES):
            if api_key == PRODUCE and not _is_one_batch(request, frame_bytes):
                cut = _cut(request)
            frame = frame[:KEPT_BYTES]
            size = KEPT_BYTES if cut is None else KEPT_BYTES + 200 * len(cut)
        size += ENTRY_BYTES
        self._number += 1
        entry = Entry(self._number, self._wall_ms(), began_ns, peer, frame, frame_bytes, cut, size)
        rings = self._rings
        ring = rings.get(transactional_id)
        if ring is None:
            ring = rings[transactional_id] = deque()
            if len(rings) > self._ids:
                self._forget()
        else:
            rings.move_to_end(transactional_id)
            if len(ring) >= self._requests:
                self._let_go(ring.popleft())
        ring.append(entry)
        self.bytes += size
        while self.bytes > self._limit_bytes and len(rings) > 1:
            self._forget()
        return entry

    def end(self, entry: Entry, took_ns: int, parts: list[Any]) -> None:
        """The answer as it leaves, none if its connection broke."""
        entry.took_ns = took_ns
        if parts and entry.size:
            answer = parts[0]
            size = len(answer)
            entry.answer_bytes = size
            if size > WHOLE_BYTES:
                answer = bytes(answer[:KEPT_BYTES])
                size = KEPT_BYTES
            entry.answer = answer
            entry.size += size
            self.bytes += size

    def _forget(self) -> None:
        """Lets the id go that was quiet for longest."""
        _, ring = self._rings.popitem(last=False)
        for each in ring:
            self._let_go(each)

    def _let_go(self, entry: Entry) -> None:
        self.bytes -= entry.size
        entry.size = 0

    def read(self, transactional_id: str, after: int) -> Iterator[tuple[int, Entry]]:
        """(microseconds since 1970, request) of all with a number above `after`, oldest first.

        The wall clock is known in milliseconds, the other in nanoseconds: from all requests together the distance of the two
        is known better than from one, unless the wall clock was set in between.
        """
        found = list(self._rings.get(transactional_id, ()))
        apart = [each.wall_ms * 1_000_000 - each.began_ns for each in found]
        for at, each in enumerate(found):
            if each.number > after:
                same = [one for one in apart if abs(one - apart[at]) < SAME_CLOCK_NS]
                yield (each.began_ns + max(same)) // 1000, each


def _is_one_batch(request: Any, frame_bytes: int) -> bool:
    """Whether all that is worth knowing of a large Produce stands in its beginning."""
    topics = request.topic_data
    if len(topics) != 1 or len(topics[0].partition_data) != 1:
        return False
    records = topics[0].partition_data[0].records
    return records is not None and frame_bytes - len(records) <= BEFORE_BATCH_BYTES


def _cut(request: Any) -> Cut:
    return [
        (
            topic.name,
            topic.topic_id,
            each.index,
            None if each.records is None else bytes(each.records[:HEADER_BYTES]),
        )
        for topic in request.topic_data
        for each in topic.partition_data
    ]


def short_request(transactional_id: str, entry: Entry) -> bytes | None:
    """A large Produce with nothing left of its batches but their headers: what can be read of it. None if it is kept whole."""
    header = read_request_header(entry.frame)
    if header.api_key != PRODUCE or entry.frame_bytes == len(entry.frame):
        return None
    cut = entry.cut
    if cut is None:  # one batch, whose header we have; zeroes for the rest read as no tagged fields
        filled = entry.frame + bytes(entry.frame_bytes - len(entry.frame))
        cut = _cut(ProduceRequest.decode(filled, header.version, header.body_at))
    topics: dict[tuple[str, bytes], TopicProduceData] = {}
    for name, topic_id, index, head in cut:
        topic = topics.setdefault((name, topic_id), TopicProduceData(name=name, topic_id=topic_id))
        topic.partition_data.append(PartitionProduceData(index=index, records=head))
    request = ProduceRequest(transactional_id=transactional_id, topic_data=list(topics.values()))
    return bytes(request_frame(PRODUCE, header.version, header.correlation_id, header.client_id, request)[4:])
