"""A Flask application with Flask-Login."""

from __future__ import annotations

from collections.abc import Iterator

import flask_login
from flask import Flask, Response, request

from svctoolkit.sdk import ServiceClient
from svctoolkit.sdk.frameworks.flask import FlaskTracking


class User(flask_login.UserMixin):
    def __init__(self, id: str) -> None:
        self.id = id


def create_app(client: ServiceClient) -> Flask:
    app = Flask("shop")
    app.secret_key = "x"
    logins = flask_login.LoginManager(app)
    logins.user_loader(User)
    tracking = FlaskTracking(client=client, consent=lambda request: request.args.get("no") is None)
    tracking.init_app(app)

    @app.get("/login/<user>")
    def log_in(user: str) -> str:
        client.track("Login Begun")
        flask_login.login_user(User(user))
        client.track("Logged In")
        return "<p>"

    @app.get("/shop")
    def shop() -> str:
        client.track("View", {"path": request.path})
        return "<p>"

    @app.get("/stream")
    def stream() -> Response:
        def content() -> Iterator[str]:
            client.track("Stream")  # Flask's request has ended
            yield "<p>"

        return Response(content(), content_type="text/html")

    return app
