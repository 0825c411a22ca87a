"""The documentation as a site: the pages of `svctoolkit/docs`, and references generated from what is installed.

    write(Path("site"), texts(COMMANDS))  # site/index.html and the rest, without a server and without a network

Pages are rendered on request, not when a wheel is built. So they match the installed commands, matchers and types,
including those of other packages, and work in a checkout, too.
"""

from svctoolkit.cli._site.pages import DOCS, names, titles
from svctoolkit.cli._site.search import opened as open_search
from svctoolkit.cli._site.sections import sections
from svctoolkit.cli._site.site import texts, write

__all__ = ["DOCS", "names", "open_search", "sections", "texts", "titles", "write"]
