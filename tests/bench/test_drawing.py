"""Charts: what is lost is said, and they can be read on a dark screen."""

from xml.etree import ElementTree

from oncelog.cost import drawing, scaling
from oncelog.cost.drawing import Bar, Row

SVG = "{http://www.w3.org/2000/svg}"


def test_bars_their_line_and_where_they_should_be() -> None:
    rows = [
        Row("a", [Bar(2.0, "native", better=True), Bar(0.5, "python: missed", better=False)], wanted=1.5),
        Row("b & c", [Bar(9.0, "", better=True)], higher=False),
    ]
    drawn = ElementTree.fromstring(drawing.ratios(rows, "a < b"))
    bars = [each for each in drawn.iter(f"{SVG}rect") if each.get("class") != "back"]
    scale = float(bars[0].get("width", "0")) / 2.0
    assert [(each.get("class"), round(float(each.get("width", "0")) / scale, 1)) for each in bars] == [
        ("better", 2.0),
        ("worse", 0.5),
        ("better", drawing.LONGEST),  # cut; the label says the whole
    ]
    lines = {each.get("class"): each for each in drawn.iter(f"{SVG}line")}
    left = float(bars[0].get("x", "0"))
    assert round((float(lines["one"].get("x1", "0")) - left) / scale, 1) == 1.0
    assert round((float(lines["wanted"].get("x1", "0")) - left) / scale, 1) == 1.5
    texts = {each.text: each for each in drawn.iter(f"{SVG}text")}
    assert {"2.00x native", "0.50x python: missed", "9.00x", "a", f"b & c{drawing.LESS_IS_BETTER}"} <= set(
        texts
    )
    # A label stands behind the line and the mark, not across them.
    assert float(texts["0.50x python: missed"].get("x", "0")) > float(lines["wanted"].get("x1", "0"))
    assert drawn.findtext(f"{SVG}title") == "a < b"


def test_a_long_name_has_several_lines_and_the_next_row_stands_below() -> None:
    drawn = ElementTree.fromstring(
        drawing.ratios([Row("many words " * 16, [Bar(1.0, "", better=True)]), Row("next", [])], "t")
    )
    texts = [(each.text or "", float(each.get("y", "0"))) for each in drawn.iter(f"{SVG}text")]
    name = [each for each in texts if "many" in each[0]]
    assert len(name) == 3
    assert max(len(line) for line, _ in name) <= drawing.NAME_CHARACTERS
    (below,) = (y for line, y in texts if line == "next")
    assert below - name[-1][1] >= drawing.LINE_HEIGHT


def test_every_shade_has_one_for_a_dark_screen() -> None:
    light, dark = drawing.STYLE.split("@media(prefers-color-scheme:dark)")
    shades = {"text", ".back", ".better", ".worse", ".one", ".wanted", ".grid", ".curve", ".spread"}
    assert all(f"{each}{{" in light and f"{each}{{" in dark for each in shades)
    points = [
        {"curve": "c", "counts": "n", "per": "transaction", "point": point, "round": 1, "cpu_us": 1.0}
        for point in (1, 2)
    ]
    for picture in (
        drawing.ratios([Row("a", [Bar(1.0, "", better=True)])], "t"),
        scaling.chart({"runs": points}),
    ):
        used = {each.get("class") for each in ElementTree.fromstring(picture).iter()} - {None}
        assert {f".{each}" for each in used} <= shades
        colours = [
            each.get(name) for each in ElementTree.fromstring(picture).iter() for name in ("fill", "stroke")
        ]
        assert set(colours) <= {None}  # all of them by the style
        assert drawing.STYLE in picture
