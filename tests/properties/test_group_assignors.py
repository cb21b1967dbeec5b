"""Assignors: everything is read by exactly one who wants it, fairly, and nothing moves without need. Patterns: as `re`."""

import re

from hypothesis import given, settings
from hypothesis import strategies as st

from oncelog.group.assignors import ASSIGNORS, Assignment, MemberSpec
from oncelog.group.members import ConsumerMember, MemberState, partitions_of, reconcile
from oncelog.group.regex import Pattern
from oncelog.model import TopicId

TOPICS = [TopicId(bytes([each]) * 16) for each in range(1, 5)]
MEMBERS = [f"m{each}" for each in range(6)]


@st.composite
def groups(draw: st.DrawFn) -> tuple[dict[str, MemberSpec], dict[TopicId, int]]:
    """Members with any subscriptions and any former targets, also ones that contradict each other."""
    counts = {topic: draw(st.integers(1, 7)) for topic in TOPICS}
    same = frozenset(draw(st.lists(st.sampled_from(TOPICS), max_size=4)))
    alike = draw(st.booleans())
    members: dict[str, MemberSpec] = {}
    for member_id in draw(st.lists(st.sampled_from(MEMBERS), min_size=1, unique=True)):
        topics = same if alike else frozenset(draw(st.lists(st.sampled_from(TOPICS), max_size=4)))
        former: Assignment = {}
        for topic in draw(st.lists(st.sampled_from(TOPICS), max_size=3, unique=True)):
            former[topic] = frozenset(draw(st.lists(st.integers(0, 9), min_size=1, max_size=5)))
        instance = draw(st.sampled_from([None, f"i-{member_id}"]))
        members[member_id] = MemberSpec(instance, topics, former)
    return members, counts


@settings(max_examples=300)
@given(groups(), st.sampled_from(sorted(ASSIGNORS)))
def test_every_wanted_partition_has_one_reader_that_wants_it(
    group: tuple[dict[str, MemberSpec], dict[TopicId, int]], assignor: str
) -> None:
    members, counts = group
    found = ASSIGNORS[assignor](members, counts)
    assert sorted(found) == sorted(members)
    given_out = [(t, p) for each in found.values() for t, partitions in each.items() for p in partitions]
    wanted = {topic for spec in members.values() for topic in spec.topics}
    assert sorted(given_out) == sorted((topic, p) for topic in wanted for p in range(counts[topic]))
    for member_id, assignment in found.items():
        assert set(assignment) <= members[member_id].topics
        assert all(assignment.values())


def size(assignment: Assignment) -> int:
    return sum(map(len, assignment.values()))


@settings(max_examples=300)
@given(groups())
def test_uniform_is_balanced_and_stays_as_it_is(
    group: tuple[dict[str, MemberSpec], dict[TopicId, int]],
) -> None:
    members, counts = group
    found = ASSIGNORS["uniform"](members, counts)
    for giver, assignment in found.items():
        for topic in assignment:
            for taker, spec in members.items():
                if topic in spec.topics:
                    assert size(assignment) - size(found[taker]) <= 1, (giver, taker)
    again = {m: MemberSpec(spec.instance_id, spec.topics, found[m]) for m, spec in members.items()}
    assert ASSIGNORS["uniform"](again, counts) == found


@settings(max_examples=200)
@given(groups(), groups(), st.data())
def test_reconciling_never_gives_a_partition_to_two_and_always_arrives(
    first: tuple[dict[str, MemberSpec], dict[TopicId, int]],
    second: tuple[dict[str, MemberSpec], dict[TopicId, int]],
    data: st.DataObject,
) -> None:
    targets = [ASSIGNORS["uniform"](*group) for group in (first, second)]
    members = {member_id: ConsumerMember(member_id) for member_id in MEMBERS}
    for epoch, target in enumerate(targets, start=1):
        moves = data.draw(st.lists(st.tuples(st.sampled_from(MEMBERS), st.booleans()), max_size=30))
        honest = [(member_id, True) for member_id in MEMBERS] * 4
        for member_id, says in moves + honest:
            members[member_id] = _beat(members, member_id, target.get(member_id, {}), epoch, says=says)
            held = [
                (t, p) for m in members.values() for h in (m.assigned, m.revoking) for t in h for p in h[t]
            ]
            assert len(held) == len(set(held))
        for member_id, member in members.items():
            assert member.is_reconciled_to(epoch)
            assert partitions_of(member.assigned) == target.get(member_id, {})


def _beat(
    members: dict[str, ConsumerMember], member_id: str, target: Assignment, epoch: int, *, says: bool
) -> ConsumerMember:
    """One heartbeat of a client that gives up what it is told to, if it says what it owns."""
    member = members[member_id]
    taken = {
        (topic, partition)
        for other in members.values()
        if other.id != member_id
        for held in (other.assigned, other.revoking)
        for topic, partitions in held.items()
        for partition in partitions
    }
    after = reconcile(
        member,
        target=target,
        target_epoch=epoch,
        owned={topic: tuple(partitions) for topic, partitions in member.assigned.items()} if says else None,
        is_free=lambda topic, partition: (topic, partition) not in taken,
    )
    assert after.epoch >= member.epoch
    if after.state is MemberState.UNREVOKED_PARTITIONS:
        assert after.revoking
    return after


PIECES = st.sampled_from(
    ["a", "b", "-", ".", "[ab]", "[^a]", "[a-]", r"\w", r"\d", "^", "$", r"\b", r"\B", ""]
)
PATTERNS = st.recursive(
    PIECES,
    lambda inner: st.one_of(
        st.tuples(inner, inner).map("".join),
        st.tuples(inner, inner).map(lambda pair: f"(?:{pair[0]}|{pair[1]})"),
        st.tuples(inner, st.sampled_from(["*", "+", "?", "{2}", "{1,2}", "{0,}", "*?"])).map(
            lambda pair: f"({pair[0]}){pair[1]}"
        ),
    ),
    max_leaves=8,
)


@settings(max_examples=500)
@given(PATTERNS, st.text("ab1-_", min_size=1, max_size=6))  # Python has its own view of \\B in ""
def test_patterns_match_what_re_matches(pattern: str, name: str) -> None:
    assert Pattern(pattern).matches(name) is (re.fullmatch(pattern, name) is not None)
