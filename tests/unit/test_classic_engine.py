"""The classic engine on real files: topics, appends, reads, restarts."""

import pathlib

from tests.classic_world import World


def test_create_append_read_restart(tmp_path: pathlib.Path) -> None:
    world = World.on(str(tmp_path)).start()
    world.topic()
    assert world.put("a", "b").base_offset == 0
    assert world.put("c").base_offset == 2
    assert world.values() == {0: b"a", 1: b"b", 2: b"c"}
    world.stop()
    world.again()
    assert world.part().log_end_offset == 3
    assert world.part().leader_epoch == 1
    assert world.values() == {0: b"a", 1: b"b", 2: b"c"}
    assert world.put("d").base_offset == 3
    world.again()
    assert world.values() == {0: b"a", 1: b"b", 2: b"c", 3: b"d"}
