"""A FastAPI application whose dependency finds out who is logged in."""

from typing import Annotated

from fastapi import BackgroundTasks, Depends, FastAPI, Header, Request
from fastapi.responses import HTMLResponse

from svctoolkit.sdk import ServiceClient
from svctoolkit.sdk.middleware import TrackingASGI


def current_user(request: Request, authorization: Annotated[str, Header()] = "") -> str:
    request.state.user_id = authorization.removeprefix("Bearer ")
    return request.state.user_id


def create_app(client: ServiceClient) -> FastAPI:
    app = FastAPI()

    @app.get("/shop", response_class=HTMLResponse)
    async def shop(user: Annotated[str, Depends(current_user)], tasks: BackgroundTasks) -> str:
        client.track("Async View")
        tasks.add_task(client.track, "Background Task")
        return "<p>"

    @app.get("/sync", response_class=HTMLResponse)
    def sync(user: Annotated[str, Depends(current_user)]) -> str:
        client.track("Sync View")
        return "<p>"

    app.add_middleware(
        TrackingASGI, client=client, user_id=lambda scope: scope.get("state", {}).get("user_id"), gpc="mark"
    )
    return app
