"""Where compiled code would not do what Python does (decision 0023): found before it is compiled.

loop       a name that a `for` runs over is bound again in its body: mypyc looks at the name in every round, Python once
narrowed   an attribute that was found not to be None is read after a call or a wait without a second look: had that call put None there, Python would
           go on with None, and compiled code raises TypeError. Take it into a variable, or ask again.
identity   `is` between a number and a member of an enum: what is kept as `int` is a plain number again when it is read
lazy       a generator expression: mypyc makes a list of it before the first element is used (any, all, sum and the like are known to it)
"""

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

Place = tuple[int, int]
Narrowed = tuple[int, int, str]  # line, column, name of an attribute

# They run none of our code, so no attribute changes in them.
HARMLESS: Final = frozenset(
    "abs bool bytes bytearray dict enumerate float frozenset getattr hasattr id int isinstance len list max memoryview min range repr set str sum "
    "tuple type zip append appendleft clear extend items keys pop popleft values get debug info warning error exception pack pack_into unpack "
    "unpack_from tobytes to_bytes from_bytes encode decode join format removesuffix startswith endswith bit_length cast Struct".split()
)
GENERATED: Final = (
    "protocol/messages"  # they call nothing that could change a message while it is read or written
)
KNOWN_TO_MYPYC: Final = frozenset(
    "all any dict frozenset list max min next set sorted sum tuple join".split()
)


def findings(paths: Sequence[str], options: Sequence[str]) -> tuple[list[str], list[str]]:
    """What was found in these files, and the modules of ours that mypy read for it."""
    found: list[str] = []
    trees = {path: ast.parse(Path(path).read_text(encoding="utf-8")) for path in paths}
    for path, tree in trees.items():
        found += [f"{path}:{line}: {what}" for line, what in sorted([*loops(tree), *lazy(tree)])]
    errors, narrowed, mixed, read = _of_mypy(paths, options)
    found += errors
    for path, tree in trees.items():
        found += [f"{path}:{line}: {what}" for line, what in identities(tree, mixed)]
        if GENERATED not in path:
            found += [f"{path}:{line}: {what}" for line, what in narrowed_reads(tree, narrowed)]
    return found, read


# ---- loops


def loops(tree: ast.AST) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.For | ast.AsyncFor):
            over = {each.id for each in ast.walk(node.iter) if isinstance(each, ast.Name)} - {
                *_bound(node.iter)
            }
            again = over & {name for part in (node.target, *node.body) for name in _bound(part)}
            for name in sorted(again):
                yield node.lineno, f"loop: {name} is bound again in the loop that runs over it"


def _bound(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            yield node.id


def lazy(tree: ast.AST) -> Iterator[tuple[int, str]]:
    known = {
        argument
        for call in ast.walk(tree)
        if isinstance(call, ast.Call) and _called(call) in KNOWN_TO_MYPYC
        for argument in call.args
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.GeneratorExp) and node not in known:
            yield node.lineno, "lazy: a generator expression that is not used up where it stands"


def _called(call: ast.Call) -> str:
    function = call.func
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def identities(tree: ast.AST, mixed: set[Place]) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare) and (node.lineno, node.col_offset) in mixed:
            yield node.lineno, "identity: a number is compared with a member of an enum by `is`"


# ---- attributes


@dataclass(frozen=True, slots=True)
class _Function:
    """Where things stand in one function, in the order of the text."""

    reads: list[tuple[Place, str]]
    looks: list[tuple[Place, str]]  # at an attribute: a test, or an assignment that ends here
    calls: list[Place]  # ends of calls and waits that may change an attribute
    loops: list[tuple[Place, Place]]


def narrowed_reads(tree: ast.AST, narrowed: set[Narrowed]) -> Iterator[tuple[int, str]]:
    """Reads that mypy believes not to be None, with a call between them and the look that made it believe so."""
    for function in ast.walk(tree):
        if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        here = _survey(function)
        for at, text in here.reads:
            if (*at, text.rpartition(".")[2]) not in narrowed:
                continue
            looks = [place for place, of in here.looks if of == text and place <= at]
            if not looks:
                continue
            last = max(looks)
            around = [loop for loop in here.loops if loop[0] <= at <= loop[1] and last < loop[0]]
            since = any(last < call < at for call in here.calls)
            again = any(begin <= call <= end for begin, end in around for call in here.calls)
            if since or again:
                yield at[0], f"narrowed: {text} is read after a call; the look at it was in line {last[0]}"


def _survey(function: ast.FunctionDef | ast.AsyncFunctionDef) -> _Function:
    here = _Function([], [], [], [])
    for node in _own(function):
        if isinstance(node, ast.Attribute):
            if isinstance(node.ctx, ast.Load):
                here.reads.append(((node.lineno, node.col_offset), ast.unparse(node)))
        elif isinstance(node, ast.Call):
            if _called(node) not in HARMLESS:
                here.calls.append(_end(node))
        elif isinstance(node, ast.Await | ast.Yield | ast.YieldFrom | ast.AsyncWith):
            here.calls.append(_end(node.items[-1].context_expr if isinstance(node, ast.AsyncWith) else node))
        if isinstance(node, ast.For | ast.While | ast.AsyncFor):
            here.loops.append(((node.lineno, node.col_offset), _end(node)))
        for test in _tests(node):
            here.looks.extend(
                [
                    (_end(each), ast.unparse(each))
                    for each in ast.walk(test)
                    if isinstance(each, ast.Attribute)
                ]
            )
        if isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for target in targets:
                for each in ast.walk(target):
                    if isinstance(each, ast.Attribute):
                        here.looks.append((_end(node), ast.unparse(each)))
    return here


def _tests(node: ast.AST) -> list[ast.expr]:
    if isinstance(node, ast.If | ast.While | ast.IfExp | ast.Assert):
        return [node.test]
    return list(node.values) if isinstance(node, ast.BoolOp) else []


def _own(function: ast.AST) -> Iterator[ast.AST]:
    """What stands in a function, without the functions inside of it: they run at another time."""
    for child in ast.iter_child_nodes(function):
        if not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            yield child
            yield from _own(child)


def _end(node: ast.expr | ast.stmt) -> Place:
    return (node.end_lineno or node.lineno, node.end_col_offset or node.col_offset)


# ---- mypy


def _of_mypy(
    paths: Sequence[str], options: Sequence[str]
) -> tuple[list[str], set[Narrowed], set[Place], list[str]]:
    """mypy's errors, attributes that it has narrowed, looks at enums that are mixed with numbers, and the modules of ours that it read."""
    from mypy.build import build
    from mypy.main import process_options
    from mypy.nodes import ComparisonExpr, MemberExpr

    sources, asked = process_options([*options, *paths])
    asked.export_types = asked.preserve_asts = True
    result = build(sources, asked)
    types: Any = result.types
    # A node does not know its file; line, column and name say enough.
    narrowed = {
        (node.line, node.column, node.name)
        for node, kind in types.items()
        if isinstance(node, MemberExpr) and _is_narrowed(node, kind, types)
    }
    mixed = {
        (node.line, node.column)
        for node in types
        if isinstance(node, ComparisonExpr)
        and node.operators[0].startswith("is")
        and _is_mixed([types.get(each) for each in node.operands])
    }
    ours = {name for name, state in result.graph.items() if state.path in paths}
    todo = list(ours)
    while todo:
        for name in result.graph[todo.pop()].dependencies:
            # Not the package itself: it only opens doors to others.
            if name.startswith("oncelog.") and name not in ours:
                ours.add(name)
                todo.append(name)
    return result.errors, narrowed, mixed, sorted(ours)


def _is_mixed(kinds: list[Any]) -> bool:
    """An int that is no enum, beside an enum."""
    from mypy.types import Instance
    from mypy.types import get_proper_type as proper_type

    get_proper_type: Any = proper_type
    found = [each.type for each in map(get_proper_type, kinds) if isinstance(each, Instance)]
    return any(each.fullname == "builtins.int" for each in found) and any(each.is_enum for each in found)


def _is_narrowed(node: Any, kind: Any, types: Any) -> bool:
    """Declared with None, and here without."""
    from mypy.types import CallableType, Instance, NoneType, UnionType
    from mypy.types import get_proper_type as proper_type

    get_proper_type: Any = proper_type
    owner = get_proper_type(types.get(node.expr))
    if not isinstance(owner, Instance):
        return False
    symbol = owner.type.get(node.name)
    known: Any = getattr(symbol, "node", None)
    declared = get_proper_type(getattr(getattr(known, "var", known), "type", None))
    if isinstance(declared, CallableType):  # a property
        declared = get_proper_type(declared.ret_type)
    found = get_proper_type(kind)
    if not isinstance(declared, UnionType) or found is None:
        return False
    has_none = any(isinstance(get_proper_type(each), NoneType) for each in declared.items)
    now = found.items if isinstance(found, UnionType) else [found]
    return has_none and not any(isinstance(get_proper_type(each), NoneType) for each in now)
