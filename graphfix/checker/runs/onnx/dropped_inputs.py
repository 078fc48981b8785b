"""Run a second model that lacks inputs of the first: those that are taken for constants."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from graphfix.results.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from graphfix.runtimes.session import Session

    Load: TypeAlias = Callable[..., Session]


@dataclass(frozen=True, slots=True)
class _Without:
    """A session that is not fed what its model does not have."""

    session: Session
    names: Collection[str]

    @property
    def outputs(self) -> tuple[str, ...]:
        """The names of what `run` returns, in that order."""
        return self.session.outputs

    def run(self, feeds: Mapping[str, object]) -> list[object]:
        """Run the model once. Raises RefusedError."""
        return self.session.run({name: value for name, value in feeds.items() if name not in self.names})


def without(load: Load, names: Collection[str]) -> Load:
    """Return what loads a model that is not fed these inputs."""
    if not names:
        return load

    def loaded(*args: object, **options: object) -> Session:
        return _Without(load(*args, **options), names)

    return loaded
