"""Names of dims in the annotations of a function: jaxtyping's `Float[Array, "b l m"]`, also in the fields of trees."""
from __future__ import annotations

import inspect
import re
import typing
from collections.abc import Callable
from typing import Any

import jax


def names_in(function: Callable, args) -> list[list[str] | None]:
    """For each leaf of args the names of its dims, as the function's annotations have them."""
    try:
        annotations = [p.annotation for p in inspect.signature(inspect.unwrap(function), eval_str=True).parameters.values()]
    except Exception:  # noqa: BLE001  (a function without a signature, an annotation without a meaning)
        annotations = []
    result = []
    for i, arg in enumerate(args):
        annotation = annotations[i] if i < len(annotations) else None
        for path, leaf in jax.tree_util.tree_flatten_with_path(arg)[0]:
            result.append(of_dims(part_of(annotation, path), len(leaf.shape)))
    return result


def part_of(annotation: Any, path) -> Any:
    """The annotation of a leaf of a tree."""
    for key in path:
        name = getattr(key, "name", getattr(key, "key", getattr(key, "idx", None)))
        of = typing.get_args(annotation)
        if of:  # tuple[A, ...], tuple[A, B], list[A], dict[str, A]
            kind = typing.get_origin(annotation)
            annotation = of[1] if kind is dict and len(of) == 2 else of[0] if kind is list or of[-1] is ... \
                else of[name] if kind is tuple and isinstance(name, int) and name < len(of) else None
        else:  # a dataclass, a NamedTuple, a TypedDict
            try:
                hints = typing.get_type_hints(annotation)
            except Exception:  # noqa: BLE001
                return None
            annotation = hints.get(list(hints)[name] if isinstance(name, int) and name < len(hints) else name)
    return annotation


def of_dims(annotation: Any, rank: int) -> list[str] | None:
    """The names in a jaxtyping annotation; what is no single name gets a letter as ever."""
    words = str(getattr(annotation, "dim_str", "")).split()
    if len(words) != rank or any(word.startswith(("*", "...")) for word in words):
        return None
    names = [re.sub(r"^[#?]*(\w+=)?", "", word) for word in words]
    return [name if re.fullmatch(r"[A-Za-z]\w*", name) else "" for name in names]


__all__ = ["names_in"]
