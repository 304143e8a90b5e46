"""SQL text as tokens: enough to split statements and to read names. Pure.

What a statement may do is not decided here: DuckDB's own parser judges that.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

_TOKEN = re.compile(
    r"""
      (?P<space>   \s+ | --[^\n\r]* )
    | (?P<comment> /\* )
    | (?P<string>  [eE]'(?:[^'\\]|\\.|'')*(?:'|\Z) | '(?:[^']|'')*(?:'|\Z)
                 | \$(?P<tag>(?:[^\W\d]\w*)?)\$ .*? (?:\$(?P=tag)\$|\Z) )
    | (?P<quoted>  "(?:[^"]|"")*(?:"|\Z) )
    | (?P<word>    [^\W\d][\w$]* )
    | (?P<number>  \d[\w.]* )
    | (?P<symbol>  . )
    """,
    re.VERBOSE | re.DOTALL,
)
_COMMENT_EDGE = re.compile(r"/\*|\*/")


@dataclass(frozen=True, slots=True)
class Token:
    """A piece of a statement that means something; spaces and comments do not."""

    kind: str
    """string, quoted, word, number or symbol."""
    text: str
    start: int

    @property
    def end(self) -> int:
        return self.start + len(self.text)

    @property
    def keyword(self) -> str:
        """The word in capitals; empty for anything that is not a bare word."""
        return self.text.upper() if self.kind == "word" else ""

    @property
    def name(self) -> str | None:
        """What the token names, if it can name something."""
        if self.kind == "quoted":
            return self.text[1:-1].replace('""', '"')
        return self.text if self.kind == "word" else None


def tokens(sql: str) -> list[Token]:
    """Return the tokens of a text; one that does not end runs to the end of the text."""
    return list(_scan(sql))


def _scan(sql: str) -> Iterator[Token]:
    at = 0
    while at < len(sql):
        found = _TOKEN.match(sql, at)
        assert found is not None
        kind = found.lastgroup if found.lastgroup != "tag" else "string"
        if kind == "comment":
            at = _end_of_comment(sql, at)
            continue
        if kind != "space":
            yield Token(str(kind), found[0], at)
        at = found.end()


def _end_of_comment(sql: str, start: int) -> int:
    """Return where a comment ends; comments nest, as they do in DuckDB."""
    depth = 0
    for edge in _COMMENT_EDGE.finditer(sql, start):
        depth += 1 if edge[0] == "/*" else -1
        if depth == 0:
            return edge.end()
    return len(sql)


def split(sql: str) -> list[str]:
    """Split a text at its semicolons; pieces that say nothing are dropped."""
    pieces: list[str] = []
    first: int | None = None
    last = 0
    for token in tokens(sql):
        if token.text == ";":
            pieces += [sql[first:last]] if first is not None else []
            first = None
            continue
        first = token.start if first is None else first
        last = token.end
    return pieces + ([sql[first:last]] if first is not None else [])


def dotted_name(found: Sequence[Token]) -> tuple[tuple[str, ...], Sequence[Token]] | None:
    """Read `a.b."c"` at the front; return its parts and what follows, or None."""
    parts: list[str] = []
    rest = list(found)
    while rest and rest[0].name is not None:
        parts.append(str(rest[0].name))
        if len(rest) < 2 or rest[1].text != ".":
            return tuple(parts), rest[1:]
        rest = rest[2:]
    return None


def quoted(name: str) -> str:
    """Write a name as an SQL identifier."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """Write a text as an SQL string."""
    return "'" + text.replace("'", "''") + "'"
