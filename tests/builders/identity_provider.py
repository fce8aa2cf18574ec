"""An OpenID Connect provider on this machine, which signs tokens and serves them over HTTP."""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric import rsa

from tests.builders.http_servers import Quiet, serving

CLIENT = "compilewatch"


class Provider:
    """person: the user who signs in, as the token describes them. claims: the token's others."""

    def __init__(self, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}"
        self.person: dict[str, Any] = {
            "sub": "1",
            "email": "ada@example.org",
            "email_verified": True,
        }
        self.claims: dict[str, Any] = {"iss": self.url, "aud": CLIENT}
        self.key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        self._published = self.key.public_key()

    @property
    def settings(self) -> dict[str, Any]:
        """Settings of a site that trusts it."""
        return {
            "OIDC_ISSUER": self.url,
            "OIDC_RP_CLIENT_ID": CLIENT,
            "OIDC_RP_CLIENT_SECRET": "shared",
            "OIDC_OP_AUTHORIZATION_ENDPOINT": f"{self.url}/authorize",
            "OIDC_OP_TOKEN_ENDPOINT": f"{self.url}/token",
            "OIDC_OP_USER_ENDPOINT": f"{self.url}/user",
            "OIDC_OP_JWKS_ENDPOINT": f"{self.url}/keys",
            "OIDC_RP_SIGN_ALGO": "RS256",
            "OIDC_USE_PKCE": True,
            "OIDC_ROLE": "viewer",
            "AUTHENTICATION_BACKENDS": [
                "axes.backends.AxesStandaloneBackend",
                "dashboard.accounts.single_sign_on.SingleSignOn",
                "django.contrib.auth.backends.ModelBackend",
            ],
        }

    def answer(self, path: str) -> dict[str, Any]:
        if path == "/keys":
            public = jwt.algorithms.RSAAlgorithm.to_jwk(self._published, as_dict=True)
            return {
                "keys": [
                    {
                        **public,
                        "kid": "1",
                        "alg": "RS256",
                        "use": "sig",
                    }
                ]
            }
        if path == "/user":
            return self.person
        now = int(time.time())
        claims = {
            **self.person,
            "iat": now,
            "exp": now + 60,
            **self.claims,
        }
        claims = {name: claim for name, claim in claims.items() if claim is not None}
        id_token = jwt.encode(claims, self.key, "RS256", headers={"kid": "1"})
        return {"access_token": "any", "id_token": id_token}


@contextmanager
def provider() -> Iterator[Provider]:
    class Handler(Quiet):
        def do_GET(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            body = json.dumps(identity_provider.answer(self.path)).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.end_headers()
            self.wfile.write(body)

        do_POST = do_GET

    with serving(Handler) as port:
        identity_provider = Provider(port)
        yield identity_provider
