"""`python -m tests.vectors.record_sessions [SEED...]` plays the kept random sessions on Apache Kafka and writes down what it said.

Read the diff before you keep it: what stands in tests/vectors/sessions is what oncelog has to answer.
"""

import sys
import tempfile
from pathlib import Path

from tests.vectors.conftest import start
from tests.vectors.random_session import KEPT, kept_file, kept_transcript


def main(words: list[str]) -> int:
    with tempfile.TemporaryDirectory() as folder, start("kafka", Path(folder)) as kafka:
        for seed in map(int, words) if words else KEPT:
            kept_file(seed).write_text("\n".join(kept_transcript(kafka, seed)) + "\n", encoding="utf-8")
            sys.stdout.write(f"{kept_file(seed).name}\n")
            sys.stdout.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
