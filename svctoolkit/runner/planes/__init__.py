"""Where scenarios run: data planes in this process, or a service at a URL."""
