"""The documentation as a site: the pages of `svctoolkit/docs`, and references made of what is installed.

    write(Path("site"))  # site/index.html and the rest, without a server and without a network

The pages are rendered when somebody asks for them, and not when a wheel is built: then they agree with the installed
commands, matchers and types, those of other packages included, and a checkout has them as a wheel does.
"""

from svctoolkit.cli._site.pages import DOCS, titles
from svctoolkit.cli._site.site import write

__all__ = ["DOCS", "titles", "write"]
