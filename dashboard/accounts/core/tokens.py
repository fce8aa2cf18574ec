"""Storage of tokens: as hashes. The texts are random, so a hash needs no salt."""

import hashlib


def hash_token(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()
