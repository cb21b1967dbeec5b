"""Every story, on oncelog and with ORACLE=1 on Apache Kafka, says what is written below its lines."""

from pathlib import Path

import pytest

from tests.conformance.targets import chosen
from tests.scenarios.rewrite import difference, retell, stories
from tests.scenarios.script import BadScript, load, read_script
from tests.toolchains import Missing, leave_out

STORIES = [
    pytest.param(path, target, id=f"{path.stem}-{target}")
    for path in stories()
    for target in chosen()
    if target == "oncelog" or not load(path).only_oncelog
]


@pytest.mark.parametrize(("path", "target"), STORIES)
def test_a_story_is_told_as_it_is_written(path: Path, target: str) -> None:
    kept = load(path)
    try:
        told = retell(kept, target)
    except Missing as why:
        leave_out(f"{path.stem} on {target}", why)
    assert told == kept, f"{target} tells it differently:\n{difference(kept, told, target)}"


@pytest.mark.parametrize("path", stories(), ids=lambda path: path.stem)
def test_a_story_is_written_as_it_would_be_rewritten(path: Path) -> None:
    assert load(path).text() == path.read_text()


STORY = """\
# A head.
broker a.b=1
oncelog c.d=2

# Nobody speaks here.
topic t 2
producer p id TV2 timeout_ms=5

p init
----
NONE (P,0)
"""


def test_a_story_is_read_in_scenes() -> None:
    script = read_script("some", STORY)
    assert (script.settings, script.oncelog_settings, script.only_oncelog) == (
        {"a.b": "1"},
        {"c.d": "2"},
        False,
    )
    assert [[step.words for step in scene.steps] for scene in script.scenes] == [
        [("topic", "t", "2"), ("producer", "p", "id", "TV2")],
        [("p", "init")],
    ]
    assert script.scenes[0].steps[1].options == {"timeout_ms": "5"}
    assert [scene.said for scene in script.scenes] == [(), ("NONE (P,0)",)]
    assert script.text() == STORY
    assert script.retold([["spoke"], []]).text() == STORY.replace(
        "TV2 timeout_ms=5", "TV2 timeout_ms=5\n----\nspoke"
    ).replace("\n----\nNONE (P,0)", "")


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("topic t\n", "wanted a head that begins with a comment, found 'topic t'"),
        ("# head\nsetting a=1\n\ntopic t\n", "found 'setting a=1'"),
        ("# head\nbroker a\n\ntopic t\n", "found 'broker a'"),
        ("# head\n\n# no steps\n----\nNONE\n", "wanted steps"),
    ],
)
def test_a_story_that_cannot_be_read_says_why(text: str, wanted: str) -> None:
    with pytest.raises(BadScript, match=wanted):
        read_script("some", text)
