"""Stands in for the Spark driver of `refunds` where the command line is the subject: no Spark, no transactions, quick.

Arguments: BOOTSTRAP FOLDER FAULT GROUP. FAULT is none, crash (the first life dies half way, before it did anything), double (the
last refund is written twice), fail (every life fails), forever (works, then waits for the end of its stdin).
"""

import json
import os
import signal
import sys
from pathlib import Path

from oncelog.client.admin import Admin
from oncelog.client.cluster import Cluster
from oncelog.client.easy import read_all
from oncelog.client.producer import Producer
from oncelog.model import TopicPartition


def main(bootstrap: str, folder: str, fault: str, group: str) -> int:
    lives = Path(folder) / "lives"
    with lives.open("a") as file:
        file.write("life\n")
    if fault == "fail":
        print("no such luck", file=sys.stderr)
        return 1
    if fault == "crash" and lives.read_text() == "life\n":
        os.kill(os.getpid(), signal.SIGKILL)
    source = read_all(bootstrap, "settlements")
    upto: dict[TopicPartition, int] = {}
    with Cluster(bootstrap) as cluster:
        producer = Producer(cluster)
        value = b""
        for record in source:
            upto[TopicPartition("settlements", record.partition)] = record.offset + 1
            row = json.loads(record.value or b"")
            if row["outcome"] == "returned":
                amount = row["amount"] * row["returned_percent"] // 100
                value = json.dumps({**row, "amount": amount}).encode()
                producer.send("refunds-emitted", value, key=record.key)
                producer.send("refund-audit", value, key=record.key)
        if fault == "double":
            producer.send("refunds-emitted", value)
        producer.flush()
        Admin(cluster).commit_offsets(group, upto)
    print(json.dumps({"batch": 0, "rows": len(source)}), flush=True)
    if fault == "forever":
        sys.stdin.read()
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
