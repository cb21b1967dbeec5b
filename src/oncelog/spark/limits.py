"""The largest record batch that a topic takes, `max.message.bytes`: asked by tasks, so that batches fit and a refusal names its row.

Spark runs one task after the other in the same process: what was asked is known there for a while, and a small micro-batch
costs no request more. A client that may not ask (the ACL is DESCRIBE_CONFIGS) goes on without: then the broker says what is too large.
"""

import time
from collections.abc import Iterable, Mapping
from typing import Final

from oncelog.client.admin import Admin
from oncelog.client.cluster import Cluster
from oncelog.client.faults import ClientFault

SETTING: Final = "max.message.bytes"
KNOWN_FOR_S: Final = 30.0

_known: dict[
    tuple[str, str], tuple[float, int | None]
] = {}  # by bootstrap address and topic: until when, and what


def batch_limits(cluster: Cluster, bootstrap: str, topics: Iterable[str]) -> Mapping[str, int]:
    """By topic, in bytes; without those that do not tell. One request at most."""
    wanted = sorted(set(topics))
    now = time.monotonic()
    missing = [each for each in wanted if _known.get((bootstrap, each), (0.0, None))[0] <= now]
    if missing:
        try:
            found = Admin(cluster).values_of_topics(SETTING, missing)
        except ClientFault:  # nobody answers, or not to this: whoever writes next finds out more
            found = {}
        for each in missing:
            text = found.get(each, "")
            limit = int(text) if text.isdecimal() else None
            _known[bootstrap, each] = now + KNOWN_FOR_S, limit
    told = {each: _known[bootstrap, each][1] for each in wanted}
    return {each: limit for each, limit in told.items() if limit is not None}


def forget_limits(bootstrap: str, topics: Iterable[str]) -> None:
    """The next question goes to the cluster: somebody may have changed the setting."""
    for each in topics:
        _known.pop((bootstrap, each), None)
