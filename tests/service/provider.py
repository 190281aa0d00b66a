"""An identity provider on this machine: authlib's own OpenID Connect server, in Flask."""

import contextlib
import threading
import time

from authlib.integrations.flask_oauth2 import AuthorizationServer
from authlib.oauth2.rfc6749 import ClientMixin, grants
from authlib.oauth2.rfc7636 import CodeChallenge
from authlib.oidc.core import UserInfo
from authlib.oidc.core.grants import OpenIDCode
from flask import Flask, jsonify, request
from joserfc.jwk import KeySet, RSAKey
from werkzeug.serving import make_server

CLIENT, SECRET = "discreet", "a secret of the client"


class Client(ClientMixin):
    def __init__(self, redirect):
        self.redirect = redirect

    def get_client_id(self):
        return CLIENT

    def get_default_redirect_uri(self):
        return self.redirect

    def get_allowed_scope(self, scope):
        return scope

    def check_redirect_uri(self, redirect_uri):
        return redirect_uri == self.redirect

    def check_client_secret(self, client_secret):
        return client_secret == SECRET

    def check_endpoint_auth_method(self, method, endpoint):
        return method == "client_secret_basic"

    def check_response_type(self, response_type):
        return response_type == "code"

    def check_grant_type(self, grant_type):
        return grant_type == "authorization_code"


class Code:
    def __init__(self, code, payload, user):
        self.code, self.user = code, user
        self.redirect_uri, self.scope = payload.redirect_uri, payload.scope
        self.nonce = payload.data.get("nonce")
        self.code_challenge = payload.data.get("code_challenge")
        self.code_challenge_method = payload.data.get("code_challenge_method")
        self.auth_time = int(time.time())

    def get_redirect_uri(self):
        return self.redirect_uri

    def get_scope(self):
        return self.scope

    def get_nonce(self):
        return self.nonce

    def get_auth_time(self):
        return self.auth_time

    def get_acr(self):
        return None

    def get_amr(self):
        return None


class Provider:
    """The people of ``people`` log in without a password: ``now`` says who sits at the browser."""

    def __init__(self):
        self.people, self.now, self.redirect = {}, None, ""
        self.key = self.signing = RSAKey.generate_key(2048, {"kid": "one"})
        self.changes, self.asked = {}, []
        self.app = Flask("provider")
        self.codes = {}
        server = AuthorizationServer(
            self.app, query_client=lambda _: Client(self.redirect), save_token=lambda *_: None
        )
        server.register_grant(_code_grant(self), [_open_id(self)(), CodeChallenge(required=True)])
        self.app.config["OAUTH2_SCOPES_SUPPORTED"] = ["openid", "profile"]

        @self.app.get("/.well-known/openid-configuration")
        def metadata():
            self.asked.append("metadata")
            return jsonify(
                issuer=self.issuer,
                authorization_endpoint=f"{self.issuer}/authorize",
                token_endpoint=f"{self.issuer}/token",
                jwks_uri=f"{self.issuer}/keys",
            )

        @self.app.get("/keys")
        def keys():
            return jsonify(KeySet([self.key]).as_dict(private=False))

        @self.app.get("/authorize")
        def authorize():
            grant = server.get_consent_grant(end_user=self.now)
            return server.create_authorization_response(grant_user=self.now, grant=grant)

        @self.app.post("/token")
        def token():
            self.asked.append(dict(request.form))
            return server.create_token_response()


def _code_grant(provider):
    class CodeGrant(grants.AuthorizationCodeGrant):
        TOKEN_ENDPOINT_AUTH_METHODS = ("client_secret_basic",)

        def save_authorization_code(self, code, request):
            provider.codes[code] = Code(code, request.payload, request.user)

        def query_authorization_code(self, code, client):
            return provider.codes.get(code)

        def delete_authorization_code(self, authorization_code):
            provider.codes.pop(authorization_code.code)

        def authenticate_user(self, authorization_code):
            return authorization_code.user

    return CodeGrant


def _open_id(provider):
    class OpenId(OpenIDCode):
        def exists_nonce(self, nonce, request):
            return any(code.nonce == nonce for code in provider.codes.values())

        def resolve_client_private_key(self, client):
            return provider.signing

        def get_client_algorithm(self, client):
            return "RS256"

        def get_client_claims(self, client):
            return {"iss": provider.issuer}

        def generate_user_info(self, user, scope):
            told = {"sub": user, "preferred_username": user, "groups": provider.people[user]}
            return UserInfo({**told, **provider.changes})

    return OpenId


@contextlib.contextmanager
def providing():
    """Run a provider on a free port of this machine."""
    provider = Provider()
    server = make_server("127.0.0.1", 0, provider.app, threaded=True)
    provider.issuer = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield provider
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
