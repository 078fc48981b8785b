"""The standard library's `dataclass`, except that methods are compiled when they are first called.

The standard library compiles up to six methods of each class while the module is imported: 0.3 ms per frozen record on
Python 3.11. A command imports a hundred records and makes instances of half of them. All other behaviour is the same:
fields, `replace`, `asdict`, patterns, copies and pickles. All rooms import this module, also the checker, because no
decision of rewriter or proof depends on it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING
from dataclasses import field as field  # noqa: PLC0414 -- it stands in what is decorated here
from reprlib import recursive_repr
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeAlias, cast

Method: TypeAlias = Callable[..., Any]
"""A method of any record."""


def _dataclass(*, frozen: bool = False, eq: bool = True, repr: bool = True, **options: bool) -> Callable[[type], type]:  # noqa: A002 -- the standard library's names
    """Return the class decorator for the standard library's arguments.

    A record has slots and inherits from no other class.
    """

    def decorated(cls: type) -> type:
        own = {name for name, value in vars(cls).items() if value is not None}  # that stays
        cls.__doc__ = cls.__doc__ or cls.__name__  # else one is made of the signature, by a tokenizer, in 2 ms
        made: Any = dataclasses.dataclass(init=False, repr=False, eq=False, **options)(cls)
        parameters = made.__dataclass_params__
        parameters.init, parameters.repr, parameters.eq, parameters.frozen = True, repr, eq, frozen
        methods: dict[str, object] = {"__init__": _later(made, "__init__", _init)}
        if repr:
            methods["__repr__"] = _repr
        if eq:
            methods["__eq__"] = _later(made, "__eq__", _eq)
            methods["__hash__"] = _later(made, "__hash__", _hash) if frozen else None
        if frozen:
            methods |= FROZEN
        for name, method in methods.items():
            if name not in own:
                setattr(made, name, method)
        return cast("type", made)

    return decorated


if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass  # noqa: PLC0414 -- what mypy knows of the one holds for the other
else:
    dataclass = _dataclass


def _later(cls: type, name: str, compiled: Callable[[type], Method]) -> Method:
    """Return a method that compiles and installs the final method when it is first called.

    Two threads that call it at once install equal methods.
    """

    def first(self: object, *arguments: object, **keywords: object) -> object:
        method = compiled(cls)
        setattr(cls, name, method)
        return method(self, *arguments, **keywords)

    return first


# --- what is compiled -----------------------------------------------------------------------------------------------


def _init(cls: Any) -> Method:  # noqa: ANN401
    """Compile `__init__`, which sets each field.

    A frozen record refuses assignments, so its fields are set through their slots.
    """
    fields, frozen = dataclasses.fields(cls), cls.__dataclass_params__.frozen
    parameters, lines = ["self"], []
    namespace: dict[str, object] = {"__missing": MISSING}
    for each in fields:
        name, default = each.name, f"__default_{each.name}"
        namespace |= {default: each.default, f"__new_{name}": each.default_factory}
        namespace[f"__set_{name}"] = vars(cls)[name].__set__
        optional = each.default is not MISSING or each.default_factory is not MISSING
        if each.init:
            parameters.append(f"{name}={default}" if optional else name)
        if each.init or optional:
            value = name if each.init else default
            if each.default_factory is not MISSING:
                value = f"__new_{name}() if {value} is __missing else {value}"
            lines.append(f"__set_{name}(self, {value})" if frozen else f"self.{name} = {value}")
    parameters[1:1] = ["*"] * any(each.kw_only for each in fields)
    lines += ["self.__post_init__()"] * hasattr(cls, "__post_init__")
    return _compiled(cls, "__init__", parameters, lines or ["pass"], namespace)


def _eq(cls: type) -> Method:
    compared = f"{_compared('self', cls)} == {_compared('other', cls)}"
    lines = [f"return {compared} if other.__class__ is self.__class__ else NotImplemented"]
    return _compiled(cls, "__eq__", ["self", "other"], lines, {})


def _hash(cls: type) -> Method:
    return _compiled(cls, "__hash__", ["self"], [f"return hash({_compared('self', cls)})"], {})


def _compared(record: str, cls: Any) -> str:  # noqa: ANN401
    """Return Python code for a tuple of the fields that are compared."""
    return f"({''.join(f'{record}.{each.name}, ' for each in dataclasses.fields(cls) if each.compare)})"


def _compiled(
    cls: type, name: str, parameters: Iterable[str], lines: Iterable[str], namespace: Mapping[str, object]
) -> Method:
    scope: dict[str, Any] = {"__name__": cls.__module__, **namespace}
    body = "".join(f" {line}\n" for line in lines)
    exec(f"def {name}({', '.join(parameters)}):\n{body}", scope)  # noqa: S102 -- as the standard library does it
    method: Method = scope[name]
    method.__qualname__ = f"{cls.__qualname__}.{name}"
    return method


# --- what all records share -----------------------------------------------------------------------------------------


@recursive_repr()
def _repr(self: Any) -> str:  # noqa: ANN401
    fields = (f"{each.name}={getattr(self, each.name)!r}" for each in dataclasses.fields(self) if each.repr)
    return f"{type(self).__qualname__}({', '.join(fields)})"


def _refuse_to_set(_: object, name: str, _value: object) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_to_delete(_: object, name: str) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")


def _state(self: Any) -> list[object]:  # noqa: ANN401
    return [getattr(self, each.name) for each in dataclasses.fields(self)]


def _set_state(self: Any, state: Sequence[object]) -> None:  # noqa: ANN401
    for each, value in zip(dataclasses.fields(self), state, strict=True):
        object.__setattr__(self, each.name, value)


FROZEN: Mapping[str, Method] = MappingProxyType(
    {
        "__setattr__": _refuse_to_set,
        "__delattr__": _refuse_to_delete,
        "__getstate__": _state,
        "__setstate__": _set_state,
    }
)
"""Further methods of a frozen record."""
