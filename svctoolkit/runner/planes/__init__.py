"""Where scenarios run: data planes of this process, or a service elsewhere."""
