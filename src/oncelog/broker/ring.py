"""The last requests of each transactional id, kept as they were on the wire: what `oncelog txn trace` and the page's lanes read.

On the path of a request nothing is formatted, looked up or counted: it costs a list of references to what exists anyway. Every
64 requests these are sorted into the rings of their ids, in one go, for a loop that goes round costs a fraction of the same code
run now and then. Only of a large request a copy is made, of its beginning and,
if it has several batches, of their headers, so that its records are not kept alive. What the express lane serves it packs itself,
and puts where it belongs. All of it is bounded: ids, requests of each, and bytes; the id that was quiet for longest goes first.
"""

from collections import OrderedDict, deque
from operator import itemgetter
from struct import Struct
from typing import Any, Final

from oncelog.ports import Clock
from oncelog.protocol.header import read_request_header, request_frame
from oncelog.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from oncelog.record.batch import HEADER_BYTES

PRODUCE: Final = 0
ADD_PARTITIONS: Final = 24
TRACED: Final = frozenset({PRODUCE, 22, ADD_PARTITIONS, 25, 26, 28})
SMALL_BYTES: Final = 1024  # a Produce up to here is kept whole
WHOLE_BYTES: Final = 8192  # as is any other request, and every answer, up to here
KEPT_BYTES: Final = (
    464  # of what is larger and no Produce of one batch: its beginning, in one of Python's small blocks
)
ENTRY_BYTES: Final = 700  # about what Python needs for one entry and its answer
SORTED_AT: Final = 64
UNDER_WAY: Final = -1
CLOCK_READINGS: Final = 4  # and no more, on a machine that is busy all the time
AT_ONCE_NS: Final = 100_000

# Of each partition: topic name, topic id, index, and the header of its batch.
Cut = list[tuple[str, bytes, int, bytes | None]]
# One request, a list because no other object is made as quickly: its transactional id, when it began and how long it took by
# the clock that measures, host and port of its client, its bytes or their beginning, how many they were, a Cut of them, the
# parts of the answer; and, zero until it is sorted, a number, and the time since 1970 less that of the clock that measures.
# TOOK is UNDER_WAY until it is answered; then, and if its connection broke, ANSWER is empty.
Entry = list[Any]
NAME: Final = 0
BEGAN: Final = 1
TOOK: Final = 2
PEER: Final = 3
FRAME: Final = 4
FRAME_BYTES: Final = 5
CUT: Final = 6
ANSWER: Final = 7
NUMBER: Final = 8
APART_US: Final = 9
_NAME_OF: Final = itemgetter(NAME)
_FRAME_OF: Final = itemgetter(FRAME)
# What server/lane.c keeps of a request, in two objects instead of nine: peer, and in one piece the numbers of an Entry (NUMBER, APART_US,
# BEGAN, TOOK, FRAME_BYTES), how long the kept beginning of the request is, that beginning, and the answer.
Packed = tuple[tuple[str, int], bytes]
PACKED: Final = Struct("=5qi")
PACKED_OBJECTS_BYTES: Final = 150  # about what Python needs for one, beside these bytes


class Ring:
    """Requests by transactional id, newest last. `begin` is on the path of every transactional request."""

    def __init__(self, clock: Clock, *, ids: int, requests: int, limit_bytes: int) -> None:
        self._clock = clock
        self._ids = ids
        self._requests = requests
        self._limit_bytes = limit_bytes
        self.fresh: list[Entry] = []  # always the same list: connections hold it
        self._rings: OrderedDict[str, deque[Entry | Packed]] = OrderedDict()  # the same too
        self._number = 0
        self._bytes = (
            0  # never less than what is kept: what goes by itself is only counted back when it matters
        )

    def __len__(self) -> int:
        """How many ids it knows something of."""
        self.sort()
        return len(self._rings)

    def begin(
        self, api_key: int, frame: bytes, request: Any, peer: tuple[str, int], began_ns: int
    ) -> Entry | None:
        """Notes a request whose key is in TRACED; None if it belongs to no transactional id.

        Whoever answers it puts TOOK and ANSWER in. A connection does the same by itself for what is answered at once.
        """
        name = request.transactional_id if api_key != ADD_PARTITIONS else added_to(request)
        if not name:
            return None
        size = len(frame)
        entry: Entry = [name, began_ns, UNDER_WAY, peer, frame, size, None, (), 0, 0]
        if size > SMALL_BYTES:
            shorten(entry, api_key, request, frame, size)
        self.fresh.append(entry)
        if len(self.fresh) >= SORTED_AT:
            self.sort()
        return entry

    def sort(self) -> None:
        """Puts what came since the last time into the rings."""
        fresh = self.fresh
        if not fresh:
            return
        rings = self._rings
        for name in reversed(dict.fromkeys(map(_NAME_OF, reversed(fresh)))):
            try:
                rings.move_to_end(name)
            except KeyError:
                rings[name] = deque(maxlen=self._requests)
        apart_us = self._apart_us()
        for number, entry in enumerate(fresh, self._number + 1):
            entry[NUMBER] = number
            entry[APART_US] = apart_us
            rings[entry[NAME]].append(entry)
        self._number += len(fresh)
        self._bytes += ENTRY_BYTES * len(fresh) + sum(map(len, map(_FRAME_OF, fresh)))
        fresh.clear()
        while len(rings) > self._ids:
            rings.popitem(last=False)
        if self._bytes > self._limit_bytes:
            self._shrink()

    def ring_of(self, name: str) -> deque[Entry | Packed]:
        """For server/lane.c: the place of an id that has none yet."""
        made = self._rings[name] = deque(maxlen=self._requests)
        while len(self._rings) > self._ids:
            self._rings.popitem(last=False)
        return made

    def noted(self, size: int) -> int:
        """For server/lane.c: it kept so many bytes since the last time. What APART_US is from now on."""
        self._bytes += size
        if self._bytes > self._limit_bytes:
            self._shrink()
        return self._apart_us()

    def clock_moves(self) -> None:
        """To be called before the wall clock is moved: what came before keeps its time."""
        self.sort()
        self._number += 1  # which tells the lane to ask anew

    def _apart_us(self) -> int:
        """Read again if somebody else had the core between the two clocks: a request would be that much earlier than its states."""
        clock = self._clock
        before, wall_ms, after = clock.monotonic_ns(), clock.wall_ms(), clock.monotonic_ns()
        for _ in range(CLOCK_READINGS):
            if after - before < AT_ONCE_NS:
                break
            before, wall_ms, after = clock.monotonic_ns(), clock.wall_ms(), clock.monotonic_ns()
        return wall_ms * 1000 - after // 1000

    def _shrink(self) -> None:
        """Counts what is really kept, and lets the ids go that were quiet for longest, down to three quarters of the limit."""
        self._bytes = self.bytes()
        while self._bytes > self._limit_bytes * 3 // 4 and len(self._rings) > 1:
            _, ring = self._rings.popitem(last=False)
            self._bytes -= sum(map(_size, ring))

    def bytes(self) -> int:
        """What is kept, about."""
        return sum(_size(each) for ring in self._rings.values() for each in ring)

    def ids(self) -> list[str]:
        """All that it knows something of; who asked last comes last."""
        self.sort()
        return list(self._rings)

    def read(self, transactional_id: str, after: int) -> list[Entry]:
        """All with a number above `after`, oldest first."""
        self.sort()
        kept = (_entry_of(transactional_id, each) for each in self._rings.get(transactional_id, ()))
        return [each for each in kept if each[NUMBER] > after]


def at_us(entry: Entry) -> int:
    """When it began, in microseconds since 1970."""
    return entry[BEGAN] // 1000 + entry[APART_US]


def _entry_of(name: str, kept: Entry | Packed) -> Entry:
    if isinstance(kept, list):
        return kept
    peer, packed = kept
    number, apart_us, began_ns, took_ns, size, frame_bytes = PACKED.unpack_from(packed)
    answer_at = PACKED.size + frame_bytes
    frame, answer = packed[PACKED.size : answer_at], packed[answer_at:]
    return [name, began_ns, took_ns, peer, frame, size, None, [answer], number, apart_us]


def _size(entry: Entry | Packed) -> int:
    if isinstance(entry, tuple):
        return PACKED_OBJECTS_BYTES + len(entry[1])
    return ENTRY_BYTES + len(entry[FRAME]) + (200 * len(entry[CUT]) if entry[CUT] else 0)


def shorten(entry: Entry, api_key: int, request: Any, frame: bytes, size: int) -> None:
    """Leaves of a large request its beginning, and of a Produce with several batches also their headers."""
    if api_key == PRODUCE:
        try:
            (topic,) = request.topic_data
            (partition,) = topic.partition_data
            records = partition.records
        except ValueError:  # there are several, or none
            records = None
        if records is not None:  # all before the batch, and its header: what lies behind is a few bytes
            entry[FRAME] = frame[: size - len(records) + HEADER_BYTES]
        else:
            entry[FRAME], entry[CUT] = frame[:KEPT_BYTES], _cut(request)
    elif size > WHOLE_BYTES:
        entry[FRAME] = frame[:KEPT_BYTES]


def added_to(request: Any) -> str | None:
    """AddPartitionsToTxn of clients is about one id; from version 4 on, between brokers, about several."""
    if request.transactions:
        return request.transactions[0].transactional_id
    return request.v3_and_below_transactional_id


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


def answer_of(entry: Entry) -> tuple[bytes | None, int]:
    """The answer without its length, or its beginning if it is large, and how many bytes it was. None: there is none."""
    if not entry[ANSWER]:
        return None, 0
    whole = b"".join(bytes(part) for part in entry[ANSWER])[4:]
    return (whole if len(whole) <= WHOLE_BYTES else whole[:KEPT_BYTES]), len(whole)


def short_request(entry: Entry) -> bytes | None:
    """A large Produce with nothing left of its batches but their headers: what can be read of it. None if it is kept whole."""
    frame: bytes = entry[FRAME]
    header = read_request_header(frame)
    if header.api_key != PRODUCE or entry[FRAME_BYTES] == len(frame):
        return None
    cut: Cut | None = entry[CUT]
    if (
        cut is None
    ):  # one batch, whose header is in the beginning; zeroes for the rest read as no tagged fields
        filled = frame + bytes(entry[FRAME_BYTES] - len(frame))
        cut = _cut(ProduceRequest.decode(filled, header.version, header.body_at))
    topics: dict[tuple[str, bytes], TopicProduceData] = {}
    for name, topic_id, index, head in cut:
        topic = topics.setdefault((name, topic_id), TopicProduceData(name=name, topic_id=topic_id))
        topic.partition_data.append(PartitionProduceData(index=index, records=head))
    request = ProduceRequest(transactional_id=entry[NAME], topic_data=list(topics.values()))
    return bytes(request_frame(PRODUCE, header.version, header.correlation_id, header.client_id, request)[4:])
