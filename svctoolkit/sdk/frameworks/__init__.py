"""Web frameworks and task queues that know the user: Django, Flask, Celery. Each is imported where it is used.

Starlette and FastAPI use `svctoolkit.sdk.middleware.TrackingASGI`.
"""
