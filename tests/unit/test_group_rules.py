"""The small pure parts of groups: patterns, assignors, the embedded protocol."""

from dataclasses import replace

import pytest

from oncelog.errors import ErrorCode
from oncelog.group.assignors import Assignment, MemberSpec, assign_range, assign_uniform
from oncelog.group.classic import ClassicGroup, Join, Leave, Limits, State, Sync
from oncelog.group.effects import Effects, JoinReply, MemberProtocol, SessionTimeout, SyncReply, Token
from oncelog.group.regex import BadPattern, Pattern
from oncelog.group.subscription import MalformedSubscription, read_topics
from oncelog.model import Millis, TopicId
from oncelog.record.offsets import GroupMetadataValue, MemberMetadata
from tests.unit.test_group_classic import subscription

MATCHES = r"""
# pattern            name                 matches
  foo.*              foobar               yes
  foo.*              xfoobar              no
  (a|b)+c{2,3}       abacc                yes
  (a|b)+c{2,3}       abac                 no
  (a|b)+c{2,3}       abacccc              no
  a{2}               aa                   yes
  a{2,}              aaaaa                yes
  a{,2}              a{,2}                yes
  ^t[0-9]+$          t12                  yes
  \At\z              t                    yes
  a^b                ab                   no
  \bfoo\b.*          foo-1                yes
  \bfoo\b.*          foo_1                no
  foo\B.*            foo_1                yes
  (?i)FOO            foo                  yes
  (?i:F)OO           fOO                  yes
  (?i:F)OO           foo                  no
  (?i)[A-C]+         abc                  yes
  (?i)a(?-i)b        Ab                   yes
  (?i)a(?-i)b        AB                   no
  [^a-c]+            xyz                  yes
  [^a-c]+            xaz                  no
  []a]+              ]a                   yes
  [a-]+              a-a                  yes
  [\d_.]+            1_2.3                yes
  [[:alpha:]]+       abc                  yes
  [[:^alpha:]]+      abc                  no
  \w+\.\d+           a_b.12               yes
  \x61\x{62}         ab                   yes
  \Qa.b\E+           a.bb                 no
  \Qa.b\E            a.b                  yes
  \Qa.b\E            axb                  no
  (?P<n>a)(?<m>b)    ab                   yes
  (?s).              a                    yes
  a|                 a                    yes
  orders-(eu|us)-.+  orders-eu-1          yes
  [^é]+              abc                  yes
  é                  e                    no
"""


def rows(text: str) -> list[list[str]]:
    return [line.split() for line in text.splitlines() if line.strip() and not line.startswith("#")]


@pytest.mark.parametrize(("pattern", "name", "matches"), rows(MATCHES))
def test_patterns_match_whole_names(pattern: str, name: str, matches: str) -> None:
    assert Pattern(pattern).matches(name) is (matches == "yes")


BAD = r"[ ( ) a** a++ a*+ *a ?a (?=a) (?!a) (?<=a) (?<!a) \1 a{1001} a{2,1} [z-a] [a (?P<n (?P<1-> (?i \p{L} \ [[:no:]] (?z) \xz (?-)"


@pytest.mark.parametrize("pattern", [*BAD.split(), "(" * 101 + ")" * 101, "a" * 5000, "((a{100}){100}){10}"])
def test_patterns_that_are_refused(pattern: str) -> None:
    with pytest.raises(BadPattern):
        Pattern(pattern)


@pytest.mark.parametrize("pattern", ["(a*)*b", "(a|a)*b", "(a+a+)+b", "(.*a){20}b", "a?" * 200 + "a" * 200])
def test_patterns_that_explode_elsewhere_do_not_here(pattern: str) -> None:
    assert not Pattern(pattern).matches("a" * 249 + "-")


def test_a_pattern_remembers_its_steps() -> None:
    pattern = Pattern("[a-z]+-[0-9]{1,3}")
    assert [pattern.matches(each) for each in ("ab-1", "ab-12", "ab-1234", "ab-1")] == [
        True,
        True,
        False,
        True,
    ]


# --- a classic group by itself ---


def test_a_dead_group_sends_everybody_elsewhere() -> None:
    group = ClassicGroup("g", state=State.DEAD)
    limits, now, token = Limits(0, 10), Millis(1), Token(1)
    join = Join("", None, "c", "/h", "consumer", (MemberProtocol("p", b""),), 10_000, 10_000)
    for member_id in ("", "m"):
        asked = replace(join, member_id=member_id)
        effects = group.join(asked, token=token, new_member_id="n", created=False, limits=limits, now=now)
        assert effects.replies == [(token, JoinReply(ErrorCode.COORDINATOR_NOT_AVAILABLE, member_id))]
    sync = group.sync(Sync("m", None, 1, None, None, {}), token=token)
    assert sync.replies == [(token, SyncReply(ErrorCode.COORDINATOR_NOT_AVAILABLE))]
    assert (
        group.heartbeat(member_id="m", instance_id=None, generation=1)[0]
        is ErrorCode.COORDINATOR_NOT_AVAILABLE
    )
    errors, _ = group.leave((Leave("m", None),), limits=limits, now=now)
    assert errors == [ErrorCode.COORDINATOR_NOT_AVAILABLE]
    for transactional in (False, True):
        error = group.check_offset_commit(
            member_id="", instance_id=None, generation=-1, transactional=transactional
        )
        assert error is ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert group.check_offset_delete() is ErrorCode.GROUP_ID_NOT_FOUND
    assert group.check_delete() is ErrorCode.GROUP_ID_NOT_FOUND
    assert group.on_timer(SessionTimeout("m"), limits=limits, now=now) == Effects()


def test_a_record_of_an_old_broker_has_no_rebalance_timeout() -> None:
    member = MemberMetadata(
        member_id="m",
        client_id="c",
        client_host="/h",
        rebalance_timeout=-1,
        session_timeout=7,
        subscription=b"",
        assignment=b"",
    )
    value = GroupMetadataValue(protocol_type="x", generation=1, protocol="p", leader="m", members=[member])
    assert ClassicGroup.replay("g", value).members["m"].rebalance_timeout_ms == 7


# --- assignors ---

T, U = TopicId(b"t" * 16), TopicId(b"u" * 16)


def spec(*topics: TopicId, target: Assignment | None = None, instance: str | None = None) -> MemberSpec:
    return MemberSpec(instance, frozenset(topics), target or {})


def indexes(assignment: Assignment) -> dict[str, list[int]]:
    return {topic.decode()[0]: sorted(partitions) for topic, partitions in assignment.items()}


def test_range_gives_neighbours_and_reads_equal_topics_together() -> None:
    found = assign_range({"b": spec(T, U), "a": spec(T, U)}, {T: 3, U: 3})
    assert indexes(found["a"]) == {"t": [0, 1], "u": [0, 1]}
    assert indexes(found["b"]) == {"t": [2], "u": [2]}


def test_range_puts_static_members_first_by_instance() -> None:
    found = assign_range({"a": spec(T), "z": spec(T, instance="i")}, {T: 3})
    assert indexes(found["z"]) == {"t": [0, 1]}


def test_range_of_different_subscriptions() -> None:
    found = assign_range({"a": spec(T), "b": spec(T, U), "c": spec(U)}, {T: 2, U: 1})
    assert [indexes(found[each]) for each in "abc"] == [{"t": [0]}, {"t": [1], "u": [0]}, {}]


def test_uniform_keeps_what_it_can() -> None:
    before: Assignment = {T: frozenset({0, 1, 2})}
    found = assign_uniform({"a": spec(T, target=before), "b": spec(T)}, {T: 3})
    assert indexes(found["a"]) == {"t": [0, 1]}
    assert indexes(found["b"]) == {"t": [2]}
    again = assign_uniform({m: spec(T, target=found[m]) for m in found}, {T: 3})
    assert again == found


def test_uniform_of_different_subscriptions_is_balanced() -> None:
    found = assign_uniform({"a": spec(T), "b": spec(T, U)}, {T: 4, U: 2})
    assert indexes(found["a"]) == {"t": [0, 1, 2]} or len(indexes(found["a"])["t"]) == 3
    assert sum(map(len, found["b"].values())) == 3
    assert indexes(found["b"])["u"] == [0, 1]


def test_uniform_takes_away_what_is_no_longer_wanted_or_there() -> None:
    before: Assignment = {T: frozenset({0, 9}), U: frozenset({0})}
    found = assign_uniform({"a": spec(T, target=before)}, {T: 2})
    assert indexes(found["a"]) == {"t": [0, 1]}


def test_assignors_without_topics() -> None:
    assert assign_range({"a": spec()}, {}) == {"a": {}}
    assert assign_uniform({"a": spec(), "b": spec()}, {}) == {"a": {}, "b": {}}


# --- the embedded protocol ---


def test_subscribed_topics_are_read() -> None:
    assert read_topics(subscription("t", "u")) == ["t", "u"]
    assert read_topics(subscription()) == []


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\0",
        b"\0\1",
        b"\xff\xff\0\0\0\0",
        b"\0\1\0\0\0\1",
        b"\0\1\x7f\0\0\0",
        b"\0\1\xff\xff\xff\xff",
        b"\0\1\0\0\0\1\0\5ab",
        b"\0\1\0\0\0\1\xff\xffab",
        b"\0\1\0\0\0\1\0\2\xff\xff",
    ],
)
def test_malformed_subscriptions_are_refused(data: bytes) -> None:
    with pytest.raises(MalformedSubscription):
        read_topics(data)
