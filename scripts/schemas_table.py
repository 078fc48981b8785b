"""Write graphfix/formats/onnx/schemas.txt: what onnx's own definitions ask of each operator, version by version.

    python scripts/schemas_table.py

Run it when a new version of onnx is out, and read what changed. Attributes stand in the order in which onnx lists them.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

import onnx
from onnx.defs import OpSchema
from onnx.helper import get_attribute_value

from graphfix.formats.onnx.schemas import TABLE

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

Types = tuple[str, ...]
NOTE = """\
# Made by scripts/schemas_table.py. First the newest version of the standard operators, then sets of types, then each
# operator, a line a version: since | operands | results | variables and the sets of their types | attributes"""
MARKS = {
    OpSchema.FormalParameterOption.Single: ("", ""),
    OpSchema.FormalParameterOption.Optional: ("?", "?"),
    OpSchema.FormalParameterOption.Variadic: ("*", "+"),
}
"""How the option of a parameter is marked: where there may be none, and where there must be one."""


def table() -> str:
    """The whole file, by the installed onnx."""
    history = onnx.defs.get_all_schemas_with_history()
    operators: dict[tuple[str, str], list[OpSchema]] = defaultdict(list)
    for schema in sorted(history, key=lambda each: (each.domain, each.name, each.since_version)):
        operators[schema.domain, schema.name].append(schema)
    sets = _numbered(history)
    numbers = "\n".join(f"{number} {' '.join(map(_short, types))}" for types, number in sets.items())
    rows = [
        "\n".join([f"{domain}:{name}", *(_row(schema, sets) for schema in schemas)])
        for (domain, name), schemas in operators.items()
    ]
    return "\n\n".join([NOTE, str(onnx.defs.onnx_opset_version()), numbers, *rows]) + "\n"


def _numbered(history: Iterable[OpSchema]) -> dict[Types, int]:
    """Every set of element types that a variable has, the first used first: a new version of onnx adds at the end."""
    by_age = sorted(history, key=lambda each: (each.since_version, each.domain, each.name))
    used = [types for schema in by_age for types in _variables(schema).values()]
    return {types: number for number, types in enumerate(dict.fromkeys(used))}


def _variables(schema: OpSchema) -> dict[str, Types]:
    """The types of each type variable; a type that stands in its place is no variable."""
    parameters = [*schema.inputs, *schema.outputs]
    return {it.type_str: tuple(sorted(it.types)) for it in parameters if it.types != {it.type_str}}


def _short(kind: str) -> str:
    """`float` for `tensor(float)`, others as they are."""
    name = kind.removeprefix("tensor(").removesuffix(")")
    return name if f"tensor({name})" == kind else kind


def _row(schema: OpSchema, sets: Mapping[Types, int]) -> str:
    since = f"{schema.since_version}{' deprecated' * schema.deprecated}"
    variables = " ".join(f"{variable}={sets[types]}" for variable, types in _variables(schema).items())
    attributes = " ".join(_attribute(each) for each in schema.attributes.values())
    fields = [since, _parameters(schema.inputs), _parameters(schema.outputs), variables, attributes]
    return " | ".join(fields).rstrip()


def _parameters(parameters: Sequence[OpSchema.FormalParameter]) -> str:
    return " ".join(f"{it.type_str}{MARKS[it.option][it.min_arity]}" for it in parameters)


def _attribute(attribute: OpSchema.Attribute) -> str:
    return f"{attribute.name}:{attribute.type.name}{'!' * attribute.required}{_default(attribute)}"


def _default(attribute: OpSchema.Attribute) -> str:
    if not attribute.default_value.type:
        return ""
    value = get_attribute_value(attribute.default_value)
    values = value if isinstance(value, list) else [value]
    return "=" + ",".join(each.decode() if isinstance(each, bytes) else repr(each) for each in values)


if __name__ == "__main__":
    TABLE.write_text(table(), encoding="utf-8")
