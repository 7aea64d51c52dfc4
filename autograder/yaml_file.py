"""Reads YAML that people write: what is wrong with it is told with its line."""

from __future__ import annotations

import functools
import re
import reprlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autograder.errors import CourseError

if TYPE_CHECKING:
    import yaml


def read_yaml(path: Path) -> Any:
    """Return what a YAML file says; what cannot be read is one line that names the place."""
    import yaml

    try:
        text = path.read_bytes().decode("utf-8-sig")
        # It is a SafeLoader.
        return yaml.load(text, _strict_loader())  # noqa: S506
    except UnicodeDecodeError as error:
        raise CourseError(
            f"{path}: byte {error.start} is not UTF-8; save the file as UTF-8"
        ) from None
    except OSError as error:
        raise CourseError(
            f"{path}: {error.strerror}; name the folder of the course with --course"
        ) from None
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise CourseError(f"{path}: {_yaml_words(error)}") from None


def _yaml_words(error: Exception) -> str:
    mark = getattr(error, "problem_mark", None)
    line = f"line {mark.line + 1}: " if mark else ""
    deep = "nested too deep" if isinstance(error, RecursionError) else ""
    words = deep or getattr(error, "problem", None) or str(error).partition("\n")[0]
    return f"{line}this is not YAML that can be read: {words}"


@functools.cache
def _strict_loader() -> type[yaml.SafeLoader]:
    """Make a loader that refuses what YAML would take in silence.

    That is a second value, `on` as true, 1:30 as 90.
    """
    import yaml

    class Strict(yaml.SafeLoader):
        yaml_implicit_resolvers: dict[str, Any] = {}  # noqa: RUF012 PyYAML's own way

        def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
            keys = set()
            for key, _ in node.value:
                problem = ""
                if key.tag != "tag:yaml.org,2002:str":
                    problem = "is no text; put it in quotes"
                elif key.value in keys:
                    problem = "stands twice; keep one"
                if problem:
                    words = f"key {shown(key.value)} {problem}"
                    raise yaml.MarkedYAMLError(problem=words, problem_mark=key.start_mark)
                keys.add(key.value)
            return super().construct_mapping(node, deep)

    for name, pattern, first in (
        ("null", r"^(null|~|)$", ["n", "~", ""]),
        ("bool", r"^(true|false)$", ["t", "f"]),
        ("int", r"^[-+]?[0-9]+$", list("-+0123456789")),
        ("float", r"^[-+]?[0-9]+(\.[0-9]*)?([eE][-+]?[0-9]+)?$", list("-+0123456789")),
    ):
        Strict.add_implicit_resolver(f"tag:yaml.org,2002:{name}", re.compile(pattern), first)
    return Strict


def shown(value: Any) -> str:
    return reprlib.repr(value)
