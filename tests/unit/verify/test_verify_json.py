"""JSON to the letter."""

from __future__ import annotations

import pytest

from lakeward.verify.strict_json import Literal, TooDeep, Unfit, parse, same_json


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "{'a': 1}",
        '{"a": 1,}',
        "[1,]",
        "NaN",
        '{"a": Infinity}',
        '{"a": -Infinity}',
        '{"a": 01}',
        '{"a": .5}',
        '{"a": 5.}',
        '{"a": +5}',
        '{"a": "\t"}',
        '\ufeff{"a": 1}',
        '{"a": 1} {"a": 1}',
        '{"a": 1, "a": 1}',
        '{"b": {"a": 1, "a": 2}}',
        '[{"a": 1, "a": 2}]',
        r'"\ud800"',
        r'{"a": "\udc00 alone"}',
        r'{"\ud800": 1}',
        '{"a": ' + "9" * 5000 + ",}",
    ],
)
def test_what_is_not_strict_json_does_not_fit(text: str) -> None:
    with pytest.raises(Unfit):
        parse(text)


def test_a_whole_surrogate_pair_is_one_character() -> None:
    assert parse(r'"\ud83d\ude00"') == "😀"


def test_numbers_keep_every_digit() -> None:
    assert parse("[1.10, 1e3, 12345678901234567890]") == [
        Literal("1.10"),
        Literal("1e3"),
        12345678901234567890,
    ]


def test_a_number_of_five_thousand_digits_is_still_a_number() -> None:
    assert parse('{"a": ' + "9" * 5000 + "}") == {"a": Literal("9" * 5000)}


def nested(levels: int) -> str:
    return "[" * levels + "]" * levels


def test_nesting_is_followed_for_two_hundred_levels_and_no_more() -> None:
    assert parse(nested(200))
    assert parse("[" + ",".join(["{}"] * 1000) + "]")
    for levels in (201, 900, 100_000):
        with pytest.raises(TooDeep):
            parse(nested(levels))


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ('{"a": 1, "b": 2}', '{"b": 2, "a": 1}'),
        ("[1.50, 1000]", "[1.5, 1e3]"),
        ("-0", "0"),
        ('{"a": [true, null, "x"]}', '{"a":[true,null,"x"]}'),
        ('"\\u00e9"', '"é"'),
        ("1e400", "10e399"),
    ],
)
def test_json_values_are_equal_however_they_are_written(left: str, right: str) -> None:
    assert same_json(parse(left), parse(right))


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("1", "true"),
        ("0", "false"),
        ("1", '"1"'),
        ("1.5", '"1.5"'),
        ("[1, 2]", "[2, 1]"),
        ('{"a": null}', "{}"),
        ("12345678901234567890123", "12345678901234567890124"),
        ("0.1", "0.10000000000000001"),
        ("null", '""'),
    ],
)
def test_json_values_that_differ_are_told_apart(left: str, right: str) -> None:
    assert not same_json(parse(left), parse(right))
