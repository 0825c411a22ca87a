"""Write output to a terminal, a pipe or a file."""

from __future__ import annotations

import contextlib
import io
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import TextIO

from svctoolkit.errors import ToolkitError

_CODES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "cyan": "36"}


def utf8() -> None:
    """Make standard output and error write UTF-8 in every locale; lone surrogates are escaped."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")


def colours(stream: TextIO | None, environ: Mapping[str, str] = os.environ) -> bool:
    """Whether to colour output to `stream`: set by NO_COLOR and FORCE_COLOR, else true for a terminal."""
    if environ.get("NO_COLOR"):
        return False
    if environ.get("FORCE_COLOR"):
        return True
    return environ.get("TERM") != "dumb" and stream is not None and stream.isatty()


def style(text: str, *styles: str) -> str:
    """`text` in colour, if standard output supports colours."""
    if not text or not colours(sys.stdout):
        return text
    return f"\x1b[{';'.join(_CODES[s] for s in styles)}m{text}\x1b[0m"


def width() -> int:
    """The columns of the terminal (or COLUMNS); 80 without a terminal."""
    import shutil  # 2 ms, and a short answer needs no width

    return max(40, shutil.get_terminal_size().columns)


def fit(text: str) -> str:
    """A line truncated to the terminal; complete if output goes to a file or another program."""
    if sys.stdout is None or not sys.stdout.isatty() or len(text) <= width():
        return text
    return text[: width() - 1] + "…"


def plain(text: str) -> str:
    """`text` on one line with control characters escaped, so that data cannot control the terminal."""
    return "".join(c if c.isprintable() or c == " " else c.encode("unicode_escape").decode() for c in text)


def table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> Iterator[str]:
    """Aligned columns; on a terminal, lines are truncated to its width."""
    lines = [head, *(tuple(map(plain, row)) for row in rows)]
    widths = [min(40, max(len(line[n]) for line in lines)) for n in range(len(head))]
    for number, line in enumerate(lines):
        cells = (cell.ljust(width) for cell, width in zip(line, widths, strict=True))
        text = fit("  ".join(cells).rstrip())
        yield style(text, "bold") if number == 0 else text


def program() -> str:
    """The command that runs this program: its name, or its path if it is not on the PATH."""
    import shlex
    import shutil

    started = sys.argv[0] if sys.argv else ""
    if os.path.basename(started) != "svctoolkit" or shutil.which("svctoolkit"):
        return "svctoolkit"
    return shlex.quote(os.path.abspath(started))


def enter(folder: str) -> str:
    """Return the start of a command line that changes to a folder first; nothing for the current one."""
    return "" if os.path.normpath(folder) == os.curdir else f"cd {word(folder)} && "


def word(text: str) -> str:
    """Return a path as one word of a command line, to be copied."""
    import shlex

    if os.name == "posix":
        return shlex.quote(text)
    return f'"{text}"' if " " in text else text


def quantity(count: int, what: str) -> str:
    """A number with its noun: `1 suite`, `2 suites`."""
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def out(text: str) -> None:
    """Write lines to standard output. The command goes on if the reader has exited (`| head`).

    Raises `ToolkitError` if writing fails, for example on a full disk.
    """
    with _writing():
        print(text)
        flush()


def flush() -> None:
    """Flush the buffer of standard output, with the error handling of `out`."""
    with _writing():
        if sys.stdout is not None:
            sys.stdout.flush()


class StandardOutput(io.TextIOBase):
    """Standard output as a stream with the error handling of `out`. Nothing is written if it is closed."""

    def write(self, text: str) -> int:
        with _writing():
            if sys.stdout is not None:
                sys.stdout.write(text)
        return len(text)

    def flush(self) -> None:
        flush()


@contextlib.contextmanager
def _writing() -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:
        discard(sys.stdout)
    except OSError as error:
        discard(sys.stdout)
        raise ToolkitError(f"cannot write the output: {error.strerror}") from error


def discard(stream: TextIO) -> None:
    """Discard all further output to `stream`: Python flushes it once more at exit."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def err(message: str) -> None:
    """Write `svctoolkit: message` to standard error."""
    with contextlib.suppress(OSError):
        print(f"svctoolkit: {message}", file=sys.stderr, flush=True)
