"""`broker.txn(...).timeline()`: text in a terminal, a drawing in a notebook."""

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
