"""The format of the definitions: what a file may say, and how a mistake in it is named."""

import pytest

from oncelog.protocol.definition import BadDefinition, Versions, parse
from oncelog.protocol.emit import groups, smallest
from oncelog.protocol.generate import module_code

EXAMPLE = """\
# a comment
api 99 Sample
versions 1-6
flexible 4+

request
  struct Shared 3+
    id: int32
  name: string?2+ = null
  topics: [Topic] 2-5
    number: int64 = -1
    parts: [int32]?
  first: Shared 3+
  more: [Shared] 5+ tag 0

response
  code: int16
"""


def test_a_file_is_read_into_messages_structs_and_fields() -> None:
    definition = parse(EXAMPLE, "sample.txt")
    assert (definition.key, definition.name, definition.first_flexible) == (99, "Sample", 4)
    request, response = definition.messages
    assert [each.name for each in request.structs()] == ["Topic", "Shared", "SampleRequest"]
    name, topics, first, more = request.root.fields
    assert (name.type, name.versions, name.nullable, name.default) == (
        "string",
        Versions(1, 6),
        Versions(2, 6),
        "null",
    )
    assert (topics.array, topics.versions, topics.tag) == (True, Versions(2, 5), None)
    assert topics.struct is not None
    number, parts = topics.struct.fields
    assert (number.default, number.versions) == ("-1", Versions(2, 5))
    assert (parts.array, parts.nullable) == (True, Versions(2, 5))
    assert first.struct is more.struct
    assert more.tag == 0
    assert [field.name for field in response.root.fields] == ["code"]


def test_versions_share_code_while_their_form_allows_it() -> None:
    cold = parse(EXAMPLE, "sample.txt").messages
    hot = parse(EXAMPLE.replace("flexible 4+", "flexible 4+\nhot"), "sample.txt").messages
    assert groups(cold[0]) == [Versions(4, 6), Versions(1, 3)]
    assert groups(hot[0]) == [
        Versions(6, 6),
        Versions(5, 5),
        Versions(4, 4),
        Versions(3, 3),
        Versions(2, 2),
        Versions(1, 1),
    ]
    assert groups(hot[1]) == [Versions(4, 6), Versions(1, 3)]


def test_the_smallest_size_of_a_struct_bounds_its_count() -> None:
    request = parse(EXAMPLE, "sample.txt").messages[0]
    topic, shared, root = request.structs()
    assert [smallest(topic, version, request.flexible(version)) for version in (3, 4)] == [8 + 4, 8 + 1 + 1]
    assert smallest(shared, 4, True) == 4 + 1
    assert [smallest(root, version, request.flexible(version)) for version in (1, 3, 6)] == [
        2,
        2 + 4 + 4,
        1 + 5 + 1,
    ]


def test_an_element_without_bytes_cannot_be_generated() -> None:
    text = EXAMPLE.replace("    number: int64 = -1\n    parts: [int32]?\n", "    number: int64 4-5\n")
    with pytest.raises(ValueError, match="an element of topics can be empty"):
        module_code(parse(text, "sample.txt"), "sample.txt")


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ("versions 1-6\n", "", r"sample.txt: wanted `api` or `data`, `versions` and `flexible` at the top"),
        ("versions 1-6", "versions 6-1", r"sample.txt: an empty range of versions: '6-1'"),
        ("versions 1-6", "versions 1+", r"sample.txt: not a range of versions: '1\+'"),
        ("code: int16", "code int16", r"sample.txt:17: not a field: 'code int16'"),
        ("code: int16", "code: int16 7+", r"sample.txt:17: an empty range of versions"),
        (
            "number: int64 = -1",
            "number: int64 1+",
            r"sample.txt:11: versions .* reach outside those of the struct",
        ),
        ("  code: int16\n", "", r"sample.txt:16: a struct without fields"),
        (
            "  code: int16\n",
            "  code: int16\n  code: int16\n",
            r"sample.txt:18: the field name code comes twice",
        ),
        ("  code: int16\n", "  code: int16\n    deep: int16\n", r"sample.txt:18: indented deeper"),
        ("response\n", "answer\n", r"sample.txt:16: wanted `request` or `response`, found 'answer'"),
        ("response\n  code: int16\n", "", r"sample.txt: wanted one request and then one response"),
    ],
)
def test_a_mistake_is_named_with_file_and_line(old: str, new: str, complaint: str) -> None:
    assert old in EXAMPLE
    with pytest.raises(BadDefinition, match=complaint):
        parse(EXAMPLE.replace(old, new), "sample.txt")


def test_a_struct_name_of_both_sides_gets_the_side_in_front() -> None:
    both = EXAMPLE.replace("  code: int16\n", "  topics: [Topic]\n    code: int16\n")
    request, response = parse(both, "sample.txt").messages
    assert request.structs()[0].name == "RequestTopic"
    assert [each.name for each in response.structs()] == ["ResponseTopic", "SampleResponse"]


def test_a_family_of_data_messages_may_share_a_struct_only_when_it_is_the_same() -> None:
    text = "data Family\nversions 0-1\nflexible none\n\nmessage One\n  parts: [Part]\n    id: int32\n\nmessage Two\n  parts: [Part]\n    id: int32\n"
    assert module_code(parse(text, "family.txt"), "family.txt").count("class Part(") == 1
    with pytest.raises(ValueError, match="two different structs are called Part"):
        module_code(parse(text[:-1] + "\n    more: int32\n", "family.txt"), "family.txt")
