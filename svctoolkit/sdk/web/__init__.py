"""Middleware for web applications: visitors, where they come from, and the pages that they view."""
