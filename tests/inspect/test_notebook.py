"""`broker.txn(...).timeline()`: text in a terminal, a drawing in a notebook."""

from confluent_kafka import Consumer, TopicPartition

import oncelog
from tests.clients import transactional


def test_a_timeline_is_text_and_a_drawing() -> None:
    with oncelog.Broker() as broker:
        broker.topic("out")
        producer = transactional(broker.bootstrap, "refunds-1")
        for number in range(2):
            producer.begin_transaction()
            producer.produce("out", b"%d" % number)
            producer.commit_transaction(20)
        found = broker.txn("refunds-1").timeline()
        assert str(found).count("PrepareCommit") == 2
        assert str(broker.txn("refunds-1").timeline(last=1)).count("PrepareCommit") == 1
        drawn = found._repr_html_()  # pyright: ignore[reportPrivateUsage]  # Jupyter's own name for it
        assert drawn.startswith("<style>")
        assert drawn.count("<g ") == len(found.boxes)
        assert str(broker.txn("nobody").timeline()).splitlines()[1:] == []


TEETH = "evil\x1b]0;title\x07\x1b[2J\x9b31m\u202e\u65e5\u672c"


def test_a_prompt_shows_the_table_and_no_escape_of_others() -> None:
    """Ids and client ids are what clients chose to send."""
    with oncelog.Broker() as broker:
        broker.topic("out")
        producer = transactional(broker.bootstrap, TEETH, {"client.id": TEETH})
        producer.begin_transaction()
        producer.produce("out", b"x")
        reader = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": "settle", "log_level": 0})
        producer.send_offsets_to_transaction(
            [TopicPartition("out", 0, 1)], reader.consumer_group_metadata(), 20
        )
        producer.commit_transaction(20)
        reader.close()
        found = broker.txn(TEETH).timeline()
    assert repr(found) == str(found)
    head, *rows = repr(found).splitlines()
    assert head.split() == ["TIME", "LANE", "WHAT", "TOOK", "BYTES", "ERROR", "MORE"]
    assert len(rows) == len(found.events) > 5
    assert r"evil\x1b]0;title\x07\x1b[2J\x9b31m\u202e" + "\u65e5\u672c" in repr(found)
    assert not set(repr(found)) & set("\x1b\x07\x9b\u202e")
    at = head.index("WHAT")
    starts = [len(each) - len(_behind(each, at)) for each in rows]
    assert all(
        each[start - 1] == " " and each[start] != " " for each, start in zip(rows, starts, strict=True)
    )


def _behind(row: str, columns: int) -> str:
    """What stands behind so many columns of a terminal, where a Chinese character takes two."""
    while columns > 0:
        columns -= 2 if row[0] in "\u65e5\u672c" else 1
        row = row[1:]
    return row
