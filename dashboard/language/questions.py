"""Question that a comparison asks, in words. Pure."""

MOVE = ("Move from", "to", "?")  # its two sides come between the words


def question(base: str, new: str, where: str) -> str:
    """Word what a comparison asks: "Move from 2.11.0 to 2.13.0? On h100"."""
    before, between, after = MOVE
    return f"{before} {base} {between} {new}{after} {where[:1].upper()}{where[1:]}".rstrip()
