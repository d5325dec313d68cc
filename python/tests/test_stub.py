"""The extension module offers what its stub says, parameter by parameter."""

import ast
from pathlib import Path

import sluice
from sluice import _core

Signatures = set[tuple[tuple[str, str, bool], ...]]


def parameters(function: ast.FunctionDef) -> tuple[tuple[str, str, bool], ...]:
    """(name, kind, whether there is a default) of each, without self."""
    a = function.args
    positional = [(arg.arg, "both") for arg in a.posonlyargs + a.args]
    defaults = [False] * (len(positional) - len(a.defaults)) + [True] * len(a.defaults)
    result = [(name, kind, d) for (name, kind), d in zip(positional, defaults, strict=True)]
    if a.vararg:
        result.append((a.vararg.arg, "var", False))
    result += [
        (arg.arg, "keyword", default is not None)
        for arg, default in zip(a.kwonlyargs, a.kw_defaults, strict=True)
    ]
    return tuple(result[1:] if result and result[0][0] == "self" else result)


def runtime(function: object) -> Signatures:
    found: Signatures = set()
    for signature, *_ in function.__nb_signature__:  # type: ignore[attr-defined]
        text = signature
        for number in range(9, -1, -1):
            text = text.replace(f"\\{number}", "None")
        (parsed,) = ast.parse(text + ": ...").body
        assert isinstance(parsed, ast.FunctionDef)
        found.add(parameters(parsed))
    return found


def functions(body: list[ast.stmt]) -> dict[str, Signatures]:
    declared: dict[str, Signatures] = {}
    for node in body:
        if isinstance(node, ast.FunctionDef) and not any(
            "property" in ast.unparse(decorator) for decorator in node.decorator_list
        ):
            declared.setdefault(node.name, set()).add(parameters(node))
    return declared


def anonymous(signatures: Signatures) -> set[tuple[tuple[str, bool], ...]]:
    """Without the names that callers cannot use: those of operators."""
    return {tuple((kind, default) for _, kind, default in one) for one in signatures}


def required(signatures: Signatures) -> set[tuple[tuple[str, str], ...]]:
    return {tuple((name, kind) for name, kind, _ in one) for one in signatures}


def compare(where: object, body: list[ast.stmt]) -> None:
    for name, declared in functions(body).items():
        found = runtime(getattr(where, name))
        if name == "__init__" or not name.startswith("__"):
            # What a type checker must tell apart, overloads of the stub, is one function.
            assert found <= declared and required(found) == required(declared), name
        else:
            assert anonymous(found) == anonymous(declared), name


def names(body: list[ast.stmt]) -> set[str]:
    found = set()
    for node in body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            found.add(node.name)
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            found.add(node.target.id)
    return found


def public(where: object) -> set[str]:
    return {name for name in vars(where) if not name.startswith("__")}


def test_stub() -> None:
    stub = ast.parse((Path(sluice.__file__).parent / "_core.pyi").read_text())
    compare(_core, stub.body)
    assert public(_core) == names(stub.body)
    for node in stub.body:
        if isinstance(node, ast.ClassDef) and "enum.Enum" not in map(ast.unparse, node.bases):
            where = getattr(_core, node.name)
            compare(where, node.body)
            assert public(where) == {n for n in names(node.body) if not n.startswith("__")}
