"""How long the transaction coordinator needs to come up: by what its log holds, and by what is under way.

    python -m bench.coordinator                 # 2,000,000 state records of 1,000 ids; 80,000 ids
    python -m bench.coordinator --share 0.01    # a hundredth of it

Each log is written once through the broker's own code. Then a broker is started on it again and again, in this process:
after a clean stop, after kill -9, and after a clean stop with the checkpoint deleted. `engine` is the recovery of all logs,
`coordinator` what comes on top for __transaction_state. Milliseconds of CPU, least and most of all rounds, and of wall clock.
Writes coordinator.json and coordinator.md.
"""

import argparse
import asyncio
import gc
import json
import os
import platform
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Final

import oncelog
from oncelog.broker.transaction_log import CHECKPOINT
from oncelog.engine.classic.checkpoints import CLEAN_SHUTDOWN
from oncelog.model import TRANSACTION_STATE, Acks, Producer, ProducerEpoch, ProducerId, TopicPartition
from oncelog.server.main import Options, Server, as_asyncio
from oncelog.tasks import spawn
from oncelog.txn.state import State, Txn

ROUNDS: Final = 5
IDS_AT_ONCE: Final = 200
STEPS: Final = (State.ONGOING, State.PREPARE_COMMIT, State.COMPLETE_COMMIT)
LOGS: Final = (  # state records, ids, of them with a transaction under way
    (300, 100, 100),
    (2_000_000, 1_000, 100),
    (240_000, 80_000, 100),
)


def write_some(server: Server, ids: range, epoch: int, states: tuple[State, ...]) -> int:
    now = server.clock.wall_ms()
    for number in ids:
        for state in states:
            txn = Txn(
                transactional_id=f"refunds-{number}",
                producer=Producer(ProducerId(number), ProducerEpoch(epoch % 32_000)),
                previous_producer_id=ProducerId(number),
                timeout_ms=900_000,
                state=state,
                partitions=() if state is State.COMPLETE_COMMIT else (TopicPartition("out", number % 4),),
                start_ms=now,
                update_ms=now,
                client_version=2,
            )
            writing = server.broker.transactions.write_record(txn, Acks.LEADER)
            spawn(server.loop, writing).result()
    return len(ids) * len(states)


def fill(data_dir: str, records: int, ids: int, under_way: int, kept: str) -> None:
    """A log as a busy broker leaves it: with its checkpoints, and as many cleanings as there was time for."""
    broker = oncelog.Broker(data_dir=data_dir).start()
    made = broker.run(lambda server: spawn(server.loop, server.broker.transactions.ensure_topic()))
    while not made.done():
        time.sleep(0.01)
    written = epoch = 0
    while written < records - under_way:
        for first in range(0, ids, IDS_AT_ONCE):
            some = range(first, min(first + IDS_AT_ONCE, ids))
            written += broker.run(
                lambda server, some=some, epoch=epoch: write_some(server, some, epoch, STEPS)
            )
        epoch += 1
    broker.run(lambda server: write_some(server, range(under_way), epoch, (State.ONGOING,)))
    broker.stop() if kept == "clean" else broker.kill()


async def start(data_dir: str) -> dict[str, float]:
    server = Server(Options(listen_port=0, data_dir=data_dir, settings={}), fragile=True)
    gc.collect()
    gc.disable()
    found: dict[str, float] = {}
    for name, work in (
        ("engine", server.engine.start()),
        ("groups", server.broker.groups.start()),
        ("coordinator", server.broker.transactions.start()),
    ):
        wall, cpu = time.perf_counter(), time.process_time()
        await as_asyncio(spawn(server.loop, work))
        found[f"{name}_cpu_ms"] = (time.process_time() - cpu) * 1000
        found[f"{name}_ms"] = (time.perf_counter() - wall) * 1000
    gc.enable()
    found["log_bytes_read"] = server.broker.counters.get("txn.load.log_bytes")
    found["log_bytes"] = sum(each.size_bytes for each in server.engine.topics[TRANSACTION_STATE].partitions)
    server.kill()
    await server.stop()
    return found


def measure(share: float, rounds: int) -> dict[str, Any]:
    rows: list[dict[str, Any]] = []
    for most_records, most_ids, under_way in LOGS:
        records, ids = max(int(most_records * share), 300), max(int(most_ids * share), 100)
        for how in ("clean", "killed"):
            with tempfile.TemporaryDirectory(prefix="coordinator-") as directory:
                original = f"{directory}/original"
                fill(original, records, ids, under_way, how)
                for case in (how,) if how == "killed" else (how, "no checkpoint"):
                    found: list[dict[str, float]] = []
                    for _ in range(rounds):
                        copy = f"{directory}/copy"
                        shutil.copytree(original, copy)
                        if case == "no checkpoint":
                            Path(copy, CHECKPOINT).unlink()
                        assert Path(copy, CLEAN_SHUTDOWN).exists() == (how == "clean")
                        found.append(asyncio.run(start(copy)))
                        shutil.rmtree(copy)
                    row = {
                        "records": records,
                        "ids": ids,
                        "under_way": under_way,
                        "stop": case,
                        "rounds": found,
                    }
                    rows.append(row)
                    print(line(row), file=sys.stderr, flush=True)
    return {
        "machine": {
            "cores": os.cpu_count(),
            "system": platform.platform(),
            "python": platform.python_version(),
        },
        "load_average_at_the_end": os.getloadavg(),
        "rows": rows,
    }


def line(row: dict[str, Any]) -> str:
    def spread(name: str) -> str:
        values = sorted(each[name] for each in row["rounds"])
        return f"{values[0]:,.0f}-{values[-1]:,.0f}"

    last = row["rounds"][-1]
    return (
        f"| {row['records']:,} | {row['ids']:,} | {row['under_way']} | {row['stop']} "
        f"| {last['log_bytes'] / 1e6:.1f} | {last['log_bytes_read'] / 1e6:.1f} | {spread('engine_cpu_ms')} "
        f"| {spread('coordinator_cpu_ms')} | {spread('coordinator_ms')} |"
    )


def table(found: dict[str, Any]) -> str:
    machine = found["machine"]
    head = (
        f"{machine['cores']} cores, {machine['system']}, Python {machine['python']}, "
        f"load average at the end {found['load_average_at_the_end'][0]:.1f}"
    )
    columns = [
        "state records", "ids", "under way", "stop", "log, MB", "read of it, MB", "engine, CPU ms",
        "coordinator, CPU ms", "coordinator, ms",
    ]  # fmt: skip
    return "\n".join(
        [head, "", f"| {' | '.join(columns)} |", "|---" * len(columns) + "|", *map(line, found["rows"]), ""]
    )


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--share", type=float, default=1.0, help="share of the full sizes")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--out", default="bench/results")
    asked = parser.parse_args()
    found = measure(asked.share, asked.rounds)
    out = Path(asked.out)
    out.mkdir(parents=True, exist_ok=True)
    (out / "coordinator.json").write_text(json.dumps(found, indent=1) + "\n")
    (out / "coordinator.md").write_text(table(found))
    print(table(found))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
