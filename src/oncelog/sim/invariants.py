"""What must hold inside the broker, whatever clients see. Numbers are those of the list in docs/reliability.md."""

from oncelog.engine.classic.partition import ClassicPartition
from oncelog.log.state import last_stable_offset
from oncelog.model import CONSUMER_OFFSETS, TopicPartition
from oncelog.sim.world import Machine, World
from oncelog.txn.state import ENDING, State


class Broken(AssertionError):
    """An invariant does not hold."""


class Invariants:
    """Watches each life of the broker: partitions tell when one of their offsets moved."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._stable: dict[str, int] = {}  # the highest LSO that readers could see
        self._watched: set[str] = set()
        self.looks = 0
        world.on_up.append(self._begin)

    def _begin(self, machine: Machine) -> None:
        self._watched.clear()
        self.check_all(machine)

    def partitions(self, machine: Machine) -> list[ClassicPartition]:
        found: list[ClassicPartition] = []
        for topic in machine.engine.topics.values():
            for partition in topic.partitions:
                assert isinstance(partition, ClassicPartition)
                found.append(partition)
        return found

    def check_all(self, machine: Machine) -> None:
        for partition in self.partitions(machine):
            self._look(partition)
            if partition.directory not in self._watched:
                self._watched.add(partition.directory)
                partition.watch(lambda partition=partition: self._look(partition))

    def _look(self, partition: ClassicPartition) -> None:
        """1 order, 3 the LSO never goes back, 4 what it is, 5 what is told is durable."""
        self.looks += 1
        state = partition.state
        name = partition.directory
        stable = last_stable_offset(state)
        if not state.log_start_offset <= stable <= state.high_watermark <= state.log_end_offset:
            raise Broken(
                f"1: {name}: log start {state.log_start_offset}, LSO {stable}, high watermark "
                f"{state.high_watermark}, log end {state.log_end_offset}"
            )
        if stable < self._stable.get(name, 0):
            raise Broken(f"3: {name}: LSO was {self._stable[name]} and is {stable}")
        self._stable[name] = stable
        undecided = [
            each.transaction_first_offset
            for each in state.producers.values()
            if each.transaction_first_offset >= 0
        ]
        undecided += [
            each.first_offset for each in state.completed if each.last_offset >= state.high_watermark
        ]
        wanted = max(min([state.high_watermark, *undecided]), state.log_start_offset)
        if stable != wanted:
            raise Broken(f"4: {name}: LSO is {stable}, wanted {wanted}")

    def check_orphans(self, machine: Machine) -> None:
        """9: whoever has a transaction open in a partition has it open at the coordinator, with that partition."""
        owners: dict[int, tuple[TopicPartition, ...]] = {}
        for txn in machine.runtime.transactions.all():
            if txn.state is State.ONGOING or txn.state in ENDING:
                for producer_id in (txn.producer.id, txn.previous_producer_id):
                    if producer_id >= 0:
                        owners[producer_id] = txn.partitions
        for partition in self.partitions(machine):
            for each in partition.state.producers.values():
                if each.transaction_first_offset >= 0 and partition.at not in owners.get(
                    each.producer_id, ()
                ):
                    raise Broken(
                        f"9: {partition.directory}: producer {each.producer_id}/{each.epoch} has a transaction open "
                        f"since {each.transaction_first_offset} that no coordinator knows"
                    )

    def unrest(self) -> str | None:
        """16: what still goes on; None when every transaction is over and every reader may see everything."""
        machine = self._world.machine
        for txn in machine.runtime.transactions.all():
            if txn.state is State.ONGOING or txn.state in ENDING:
                return f"{txn.transactional_id} is {txn.state.name}"
        self.check_orphans(machine)
        for partition in self.partitions(machine):
            state = partition.state
            if last_stable_offset(state) != state.log_end_offset:
                return (
                    f"{partition.directory}: LSO {last_stable_offset(state)}, log end {state.log_end_offset}"
                )
        return None

    def at_end(self) -> None:
        machine = self._world.machine
        self.check_all(machine)
        self.check_orphans(machine)
        _ = CONSUMER_OFFSETS
