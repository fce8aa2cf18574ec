"""Sets of model libraries, under which a case was measured. Pure."""

from functools import cache

Libraries = tuple[tuple[str, str], ...]  # (("transformers", "5.17.0"), ...)


def agree(libraries: Libraries, others: Libraries) -> bool:
    """Test whether no library has two versions. One that is not there at all was not needed: the
    case has passed.
    """
    versions = dict(others)
    return all(versions.get(name, version) == version for name, version in libraries)


@cache
def parse_libraries(text: str) -> Libraries:
    """As ``BuildLevel.libraries`` has them: "diffusers 0.42.1, transformers 5.17.0"."""
    parts = (name.partition(" ") for name in text.split(", ") if name)
    return tuple((library, version) for library, _, version in parts)


def libraries_text(libraries: Libraries) -> str:
    return ", ".join(f"{name} {version}" for name, version in libraries) or "no model libraries"


def library_order(libraries: Libraries) -> list[tuple[str, list[int]]]:
    """Sorts sets by their versions, newest last."""
    order = []
    for name, version in libraries:
        digits = [int(digits) for digits in version.split(".") if digits.isdigit()]
        order.append((name, digits))
    return order
