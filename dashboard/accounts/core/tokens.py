"""How tokens are kept: as hashes. The texts are random, so that a hash needs no salt."""

import hashlib


def hash_token(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()
