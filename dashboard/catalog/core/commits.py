"""PyTorch's commits between two builds. Pure."""


def between(base_sha: str, new_sha: str) -> str:
    """The address of the commits after ``base_sha`` up to ``new_sha``.

    Empty where one of the two is not known, or there are none between them.
    """
    if not (base_sha and new_sha) or base_sha == new_sha:
        return ""
    return f"https://github.com/pytorch/pytorch/compare/{base_sha}...{new_sha}"
