"""Every cell of the tables of spec 02 that a client can reach: state x request -> answer and the state then.

E is the epoch that the coordinator holds. A state written `PrepareCommit!` is stuck there (spec 2.8): its partition has
seen a newer coordinator, so the pending Complete never comes, and the "while pending" cells can be asked in peace.
"""

from collections.abc import Iterator

import pytest

from oncelog.protocol.messages.produce import ProduceResponse
from tests.vectors.play import Target
from tests.vectors.txn_targets import targets
from tests.vectors.txn_wire import Id, producers_of, stuck, transaction, write_markers, wrote

pytestmark = pytest.mark.parametrize("target", targets(), indirect=True, scope="session")


def rows(table: str) -> list[list[str]]:
    return [line.split() for line in table.splitlines() if line.strip() and not line.strip().startswith("#")]


END_TV1 = """
# state           ask     epoch  answer                       then
  Empty           commit  E      INVALID_TXN_STATE            Empty
  Empty           abort   E      INVALID_TXN_STATE            Empty
  Empty           commit  E-1    PRODUCER_FENCED              Empty
  Empty           commit  E+1    PRODUCER_FENCED              Empty
  Empty           commit  P+1    INVALID_PRODUCER_ID_MAPPING  Empty
  Ongoing         commit  E      NONE                         CompleteCommit
  Ongoing         abort   E      NONE                         CompleteAbort
  Ongoing         commit  E-1    PRODUCER_FENCED              Ongoing
  Ongoing         abort   E+1    PRODUCER_FENCED              Ongoing
  Ongoing         abort   P+1    INVALID_PRODUCER_ID_MAPPING  Ongoing
  PrepareCommit!  commit  E      CONCURRENT_TRANSACTIONS      PrepareCommit
  PrepareCommit!  abort   E      CONCURRENT_TRANSACTIONS      PrepareCommit
  PrepareCommit!  commit  E-1    PRODUCER_FENCED              PrepareCommit
  PrepareCommit!  commit  P+1    INVALID_PRODUCER_ID_MAPPING  PrepareCommit
  PrepareAbort!   commit  E      CONCURRENT_TRANSACTIONS      PrepareAbort
  PrepareAbort!   abort   E      CONCURRENT_TRANSACTIONS      PrepareAbort
  PrepareAbort!   abort   E+1    PRODUCER_FENCED              PrepareAbort
  CompleteCommit  commit  E      NONE                         CompleteCommit
  CompleteCommit  abort   E      INVALID_TXN_STATE            CompleteCommit
  CompleteCommit  commit  E-1    PRODUCER_FENCED              CompleteCommit
  CompleteAbort   commit  E      INVALID_TXN_STATE            CompleteAbort
  CompleteAbort   abort   E      NONE                         CompleteAbort
  CompleteAbort   abort   E-1    PRODUCER_FENCED              CompleteAbort
"""

END_TV2 = """
# state           ask     epoch  answer                       then
  Empty           abort   E-1    PRODUCER_FENCED              Empty
  Empty           abort   E      NONE(E+1)                    CompleteAbort
  Empty           commit  E-1    PRODUCER_FENCED              Empty
  Empty           commit  E      INVALID_TXN_STATE            Empty
  Empty           abort   E+1    PRODUCER_FENCED              Empty
  Empty           abort   P+1    INVALID_PRODUCER_ID_MAPPING  Empty
  Ongoing         abort   E-1    PRODUCER_FENCED              Ongoing
  Ongoing         abort   E      NONE(E+1)                    CompleteAbort
  Ongoing         commit  E-1    PRODUCER_FENCED              Ongoing
  Ongoing         commit  E      NONE(E+1)                    CompleteCommit
  Ongoing         commit  E+1    PRODUCER_FENCED              Ongoing
  Ongoing         commit  P+1    INVALID_PRODUCER_ID_MAPPING  Ongoing
  PrepareCommit!  abort   E-1    CONCURRENT_TRANSACTIONS      PrepareCommit
  PrepareCommit!  abort   E      CONCURRENT_TRANSACTIONS      PrepareCommit
  PrepareCommit!  commit  E-1    CONCURRENT_TRANSACTIONS      PrepareCommit
  PrepareCommit!  commit  E      CONCURRENT_TRANSACTIONS      PrepareCommit
  PrepareCommit!  commit  E+1    CONCURRENT_TRANSACTIONS      PrepareCommit
  PrepareCommit!  commit  P+1    CONCURRENT_TRANSACTIONS      PrepareCommit
  PrepareAbort!   abort   E-1    CONCURRENT_TRANSACTIONS      PrepareAbort
  PrepareAbort!   abort   E      CONCURRENT_TRANSACTIONS      PrepareAbort
  PrepareAbort!   commit  E-1    CONCURRENT_TRANSACTIONS      PrepareAbort
  PrepareAbort!   commit  E      CONCURRENT_TRANSACTIONS      PrepareAbort
  PrepareAbort!   abort   P+1    CONCURRENT_TRANSACTIONS      PrepareAbort
  CompleteCommit  abort   E-1    INVALID_TXN_STATE            CompleteCommit
  CompleteCommit  abort   E      NONE(E+1)                    CompleteAbort
  CompleteCommit  commit  E-1    NONE(E)                      CompleteCommit
  CompleteCommit  commit  E      INVALID_TXN_STATE            CompleteCommit
  CompleteCommit  commit  E+1    PRODUCER_FENCED              CompleteCommit
  CompleteCommit  commit  E-2    PRODUCER_FENCED              CompleteCommit
  CompleteAbort   abort   E-1    NONE(E)                      CompleteAbort
  CompleteAbort   abort   E      NONE(E+1)                    CompleteAbort
  CompleteAbort   commit  E-1    INVALID_TXN_STATE            CompleteAbort
  CompleteAbort   commit  E      INVALID_TXN_STATE            CompleteAbort
  CompleteAbort   abort   E-2    PRODUCER_FENCED              CompleteAbort
  CompleteAbort   abort   P+1    INVALID_PRODUCER_ID_MAPPING  CompleteAbort
"""

ADD = """
# state           ask        epoch  answer                       then
  Empty           add-v3     E      NONE                         Ongoing
  Empty           add-v5     E      NONE                         Ongoing
  Empty           offsets    E      NONE                         Ongoing
  Empty           add-v3     E-1    PRODUCER_FENCED              Empty
  Empty           add-v5     E+1    PRODUCER_FENCED              Empty
  Empty           verify     E      TRANSACTION_ABORTABLE        Empty
  Ongoing         add-v3     E      NONE                         Ongoing
  Ongoing         add-v5     E      NONE                         Ongoing
  Ongoing         offsets    E      NONE                         Ongoing
  Ongoing         add-v3     E-1    PRODUCER_FENCED              Ongoing
  Ongoing         offsets    E+1    PRODUCER_FENCED              Ongoing
  Ongoing         add-v5     P+1    INVALID_PRODUCER_ID_MAPPING  Ongoing
  Ongoing         verify     E      NONE                         Ongoing
  Ongoing         verify     E+1    PRODUCER_FENCED              Ongoing
  PrepareCommit!  add-v3     E      CONCURRENT_TRANSACTIONS      PrepareCommit
  PrepareCommit!  add-v5     E      CONCURRENT_TRANSACTIONS      PrepareCommit
  PrepareCommit!  add-v5     E-1    CONCURRENT_TRANSACTIONS      PrepareCommit
  PrepareCommit!  add-v3     P+1    CONCURRENT_TRANSACTIONS      PrepareCommit
  PrepareCommit!  offsets    E      CONCURRENT_TRANSACTIONS      PrepareCommit
  PrepareCommit!  verify     E      CONCURRENT_TRANSACTIONS      PrepareCommit
  PrepareCommit!  verify     E-1    PRODUCER_FENCED              PrepareCommit
  PrepareCommit!  verify     P+1    INVALID_PRODUCER_ID_MAPPING  PrepareCommit
  PrepareAbort!   add-v3     E      CONCURRENT_TRANSACTIONS      PrepareAbort
  PrepareAbort!   add-v5     E+1    CONCURRENT_TRANSACTIONS      PrepareAbort
  PrepareAbort!   verify     E      CONCURRENT_TRANSACTIONS      PrepareAbort
  CompleteCommit  add-v3     E      NONE                         Ongoing
  CompleteCommit  add-v5     E      NONE                         Ongoing
  CompleteCommit  add-v5     E-1    PRODUCER_FENCED              CompleteCommit
  CompleteCommit  verify     E      TRANSACTION_ABORTABLE        CompleteCommit
  CompleteAbort   add-v3     E      NONE                         Ongoing
  CompleteAbort   offsets    E      NONE                         Ongoing
  CompleteAbort   add-v3     E+1    PRODUCER_FENCED              CompleteAbort
  CompleteAbort   verify     E-1    PRODUCER_FENCED              CompleteAbort
"""

INIT = """
# state           given  answer                   then
  Empty           -      NONE(E+1)                Empty
  Empty           E      NONE(E+1)                Empty
  Empty           E-1    PRODUCER_FENCED          Empty
  Empty           E+1    PRODUCER_FENCED          Empty
  Empty           P+1    PRODUCER_FENCED          Empty
  Ongoing         -      CONCURRENT_TRANSACTIONS  CompleteAbort
  Ongoing         E      CONCURRENT_TRANSACTIONS  CompleteAbort
  Ongoing         E-1    CONCURRENT_TRANSACTIONS  CompleteAbort
  Ongoing         E+1    CONCURRENT_TRANSACTIONS  CompleteAbort
  Ongoing         P+1    PRODUCER_FENCED          Ongoing
  PrepareCommit!  -      CONCURRENT_TRANSACTIONS  PrepareCommit
  PrepareCommit!  E      CONCURRENT_TRANSACTIONS  PrepareCommit
  PrepareCommit!  P+1    CONCURRENT_TRANSACTIONS  PrepareCommit
  PrepareAbort!   -      CONCURRENT_TRANSACTIONS  PrepareAbort
  PrepareAbort!   E      CONCURRENT_TRANSACTIONS  PrepareAbort
  CompleteCommit  -      NONE(E+1)                Empty
  CompleteCommit  E      NONE(E+1)                Empty
  CompleteCommit  E-1    NONE(E)                  Empty
  CompleteCommit  E-2    PRODUCER_FENCED          CompleteCommit
  CompleteAbort   -      NONE(E+1)                Empty
  CompleteAbort   E      NONE(E+1)                Empty
  CompleteAbort   E-1    NONE(E)                  Empty
  CompleteAbort   P+1    PRODUCER_FENCED          CompleteAbort
"""
# In Complete*, E-1 is what the producer held before its EndTxn v5 was answered: a repair with it is a retry (2.4).


class Cells:
    """Brings an id into a state, and asks from there."""

    def __init__(self, target: Target) -> None:
        self.target = target
        self.log = target.partition()
        self.at = [(self.log.topic, 0)]
        self.group = target.fresh_name("group")
        target.group_ready(self.group).close()
        self._stuck: dict[tuple[str, int], Id] = {}

    def reach(self, state: str, version: int) -> Id:
        """A fresh id in this state, ended by EndTxn of this version where the state needs that."""
        if state.endswith("!"):
            return self.reach_stuck(state, version)
        one = Id(self.target)
        one.init()
        one.init()  # so that there are two epochs before it
        if state != "Empty":
            one.add(self.at)
        if state == "CompleteCommit":
            one.commit(version=version)
            one.wait()
        elif state == "CompleteAbort":
            one.abort(version=version)
            one.wait()
        return one

    def reach_stuck(self, state: str, version: int) -> Id:
        """Nothing moves it any more, so all cells share it."""
        if (state, version) not in self._stuck:
            one = Id(self.target)
            one.init()
            stuck(one, self.target.partition(), commit=state == "PrepareCommit!", version=version)
            self._stuck[state, version] = one
        return self._stuck[state, version]

    def close(self) -> None:
        for one in self._stuck.values():
            one.connection.close()


@pytest.fixture(scope="module")
def cells(target: Target) -> Iterator[Cells]:
    found = Cells(target)
    yield found
    found.close()


def identity(one: Id, word: str) -> tuple[int, int]:
    """`E-1` or `P+1` as a producer id and epoch."""
    if word == "P+1":
        return one.producer_id + 1, one.epoch
    return one.producer_id, one.epoch + int(word[1:] or 0)


def expect(one: Id, answer: str) -> str:
    """`NONE(E+1)` as `NONE (P,3)`."""
    name, _, epoch = answer.partition("(")
    return f"{name} (P,{identity(one, epoch[:-1])[1]})" if epoch else name


@pytest.mark.parametrize("version", [3, 5])
def test_end_txn_2_6(target: Target, cells: Cells, version: int) -> None:
    with target.vector(f"2.6 v{version}") as row:
        for state, ask, epoch, answer, then in rows(END_TV1 if version < 5 else END_TV2):
            one = cells.reach(state, version)
            producer_id, number = identity(one, epoch)
            wanted = expect(one, answer)
            request = one.end_request(commit=ask == "commit", epoch=number, producer_id=producer_id)
            said = say(one, one.connection.send(request, version=version))
            row(f"{state} {ask} {epoch}", f"{said} {state_then(one, state)}", f"{wanted} {then}")


@pytest.mark.parametrize("ended_by", [3, 5])
def test_add_2_5(target: Target, cells: Cells, ended_by: int) -> None:
    with target.vector(f"2.5 after v{ended_by}") as row:
        for state, ask, epoch, answer, then in rows(ADD):
            one = cells.reach(state, ended_by)
            producer_id, number = identity(one, epoch)
            if ask == "offsets":
                said = one.add_offsets(cells.group, epoch=number, producer_id=producer_id)
            else:
                version, verify = 3 if ask == "add-v3" else 5, ask == "verify"
                said = one.add(
                    cells.at, version=version, verify=verify, epoch=number, producer_id=producer_id
                )
            row(f"{state} {ask} {epoch}", f"{said} {state_then(one, state)}", f"{answer} {then}")
            if not state.endswith("!"):
                one.connection.close()


def test_init_2_4(target: Target, cells: Cells) -> None:
    with target.vector("2.4") as row:
        for state, given, answer, then in rows(INIT):
            one = cells.reach(state, 5)
            wanted = expect(one, answer)
            request = one.init_request(None if given == "-" else identity(one, given))
            said = say(one, one.connection.send(request, version=5))
            row(f"{state} {given}", f"{said} {state_then(one, state)}", f"{wanted} {then}")


def say(one: Id, answer: object) -> str:
    """As `Id.said`, but the id keeps what it holds: a stuck one is asked again."""
    held = (one.producer_id, one.epoch)
    said = one.said(answer)
    one.producer_id, one.epoch = held
    return said


def state_then(one: Id, began: str) -> str:
    """The state, once a transaction that is ending has ended; a stuck one never does."""
    if not began.endswith("!") and one.describe().transaction_state.startswith("Prepare"):
        one.wait()
    return one.describe().transaction_state


def test_an_unknown_id_everywhere(target: Target, cells: Cells) -> None:
    unknown, mapping = target.fresh_name("unknown"), "INVALID_PRODUCER_ID_MAPPING"
    with target.vector("TX-4") as row, transaction(target) as one:
        for version in (0, 3, 5):
            row(f"EndTxn v{version}", one.commit(version=version, name=unknown), mapping)
        for version in (0, 3, 5):
            row(f"AddPartitions v{version}", one.add(cells.at, version=version, name=unknown), mapping)
        row("verify", one.add(cells.at, version=5, verify=True, name=unknown), mapping)
        row("AddOffsets", one.add_offsets(cells.group, name=unknown), mapping)


@pytest.mark.parametrize("state", ["PrepareCommit!", "PrepareAbort!"])
def test_offsets_while_a_transaction_ends(target: Target, cells: Cells, state: str) -> None:
    """Unlike Produce, which says NOT_ENOUGH_REPLICAS before version 12, TxnOffsetCommit passes the coordinator's word on."""
    with target.vector(f"1.10 {state}") as row:
        one = cells.reach(state, 3)
        for version in range(6):
            said = one.commit_offset(cells.group, cells.log.topic, version=version)
            row(f"TxnOffsetCommit v{version}", said, "CONCURRENT_TRANSACTIONS")


def test_an_empty_transactional_id_and_a_marker_without_an_epoch(target: Target, cells: Cells) -> None:
    with target.vector("4.5 and 4.6, malformed") as row, transaction(target) as one:
        for version in (3, 9, 11, 12, 13):
            request = one.produce_request(cells.log, 0)
            request.transactional_id = ""
            said = wrote(one.connection.send(request, ProduceResponse, version))
            row(f'Produce v{version} of ""', said, "INVALID_REQUEST @-1")
        for version in (0, 3, 4, 5):
            said = one.commit_offset(cells.group, cells.log.topic, version=version, name="")
            row(f'TxnOffsetCommit v{version} of ""', said, "INVALID_REQUEST")
        for version in (1, 2):
            said = write_markers(target, cells.log, one.producer_id, -1, version=version)
            row(f"WriteTxnMarkers v{version}, epoch -1", said, "UNKNOWN_SERVER_ERROR")
        row("the producer is unknown there", one.producer_id in producers_of(target, cells.log.topic), False)
