"""Code that leaves nothing behind: the next call may run in the same process, without a fork.

Each call runs the module from the top, in new globals. So a call can only affect a later one through objects that both
share: modules, classes and functions of Python, and the interpreter's settings. Code is called stateless if it cannot
reach such an object and change it. That is judged by lists of what is harmless, and anything else is not:

- no attribute is assigned or deleted, so items and the methods of `_ATTRIBUTES` are the only ways to change an object;
- names are the code's own, or built-in functions that reveal nothing (`getattr`, `type`, `open` are not listed);
- attributes are read only if their name is listed, and none of these leads to a shared object that can be changed;
- modules are imported only if their listed members keep no state that code can see;
- nothing can run later: no classes (`__del__`), no generator functions (`finally`), nothing asynchronous.
"""

from __future__ import annotations

import ast
import builtins
import re

_NODES = (
    ast.Module, ast.FunctionDef, ast.Lambda, ast.arguments, ast.arg, ast.Return, ast.Delete, ast.Assign, ast.AugAssign,
    ast.AnnAssign, ast.For, ast.While, ast.If, ast.Raise, ast.Try, ast.ExceptHandler, ast.Assert, ast.Import,
    ast.ImportFrom, ast.alias, ast.Global, ast.Nonlocal, ast.Expr, ast.Pass, ast.Break, ast.Continue, ast.BoolOp,
    ast.NamedExpr, ast.BinOp, ast.UnaryOp, ast.IfExp, ast.Dict, ast.Set, ast.ListComp, ast.SetComp, ast.DictComp,
    ast.GeneratorExp, ast.comprehension, ast.Compare, ast.Call, ast.keyword, ast.FormattedValue, ast.JoinedStr,
    ast.Constant, ast.Attribute, ast.Subscript, ast.Starred, ast.Name, ast.List, ast.Tuple, ast.Slice, ast.Match,
    ast.match_case, ast.MatchValue, ast.MatchSingleton, ast.MatchSequence, ast.MatchMapping, ast.MatchStar, ast.MatchAs,
    ast.MatchOr, ast.expr_context, ast.boolop, ast.operator, ast.unaryop, ast.cmpop,
)  # fmt: skip
_BUILT_IN = frozenset(
    """
    abs all any ascii bin bool bytearray bytes callable chr complex dict divmod enumerate filter float format frozenset
    hash hex int isinstance issubclass iter len list map max min next oct ord pow print range repr reversed round set
    slice sorted str sum tuple zip ArithmeticError AssertionError AttributeError Exception IndexError KeyError
    LookupError OverflowError RuntimeError StopIteration TypeError UnicodeDecodeError UnicodeEncodeError UnicodeError
    ValueError ZeroDivisionError log getCredential
    """.split()  # noqa: SIM905
)
_MODULES = frozenset(
    """
    __future__ base64 bisect collections copy datetime decimal fractions hashlib hmac html itertools json math random re
    statistics string textwrap time typing unicodedata urllib.parse uuid
    """.split()  # noqa: SIM905
)
#: Methods of values, and members of the modules above.
_ATTRIBUTES = frozenset(
    """
    add append capitalize casefold center clear copy count decode difference difference_update discard encode endswith
    expandtabs extend find format fromhex fromkeys get hex index insert intersection intersection_update
    isalnum isalpha isascii isdecimal isdigit isdisjoint isidentifier islower isnumeric isprintable isspace issubset
    issuperset istitle isupper items join keys ljust lower lstrip maketrans partition pop popitem remove removeprefix
    removesuffix replace reverse rfind rindex rjust rpartition rsplit rstrip setdefault sort split splitlines startswith
    strip swapcase symmetric_difference title translate union update upper values zfill is_integer bit_length
    b64decode b64encode urlsafe_b64decode urlsafe_b64encode b16encode b16decode bisect bisect_left bisect_right insort
    Counter defaultdict deque most_common elements appendleft popleft deepcopy
    date datetime timedelta timezone utc now utcnow today fromtimestamp utcfromtimestamp fromisoformat strptime strftime
    isoformat timestamp total_seconds days seconds microseconds year month day hour minute second microsecond weekday
    isoweekday isocalendar astimezone combine tzinfo utcoffset
    Decimal quantize to_integral_value normalize ROUND_HALF_UP ROUND_HALF_EVEN ROUND_DOWN ROUND_UP Fraction numerator
    denominator limit_denominator
    md5 sha1 sha224 sha256 sha384 sha512 hexdigest digest new compare_digest escape unescape
    chain groupby islice product permutations combinations accumulate zip_longest from_iterable starmap
    dumps loads JSONDecodeError annotations
    ceil floor sqrt log2 log10 exp fabs fsum hypot isclose isfinite isinf isnan log trunc radians degrees sin cos tan
    asin acos atan atan2 pi inf nan gcd
    random randint randrange choice choices sample shuffle uniform
    compile match fullmatch search sub subn findall finditer group groups groupdict start end span pattern IGNORECASE
    MULTILINE DOTALL I M S
    mean median stdev pstdev ascii_letters ascii_lowercase ascii_uppercase digits punctuation wrap shorten dedent time
    Any Dict List Optional Tuple Union Set Mapping Sequence
    parse urlparse urlsplit urlunparse urlunsplit urlencode urljoin parse_qs parse_qsl quote quote_plus unquote
    unquote_plus scheme netloc path params query fragment hostname port geturl
    uuid4 uuid5 uuid3 UUID NAMESPACE_DNS NAMESPACE_URL args
    """.split()  # noqa: SIM905
)


#: `{0.name}` and `{0[name]}` in a format string read attributes and items.
_LOOKUP = re.compile(r"\{\w*[.\[]")
#: A local variable of this name does not prevent another function from using the built-in.
_REVEALING = {*dir(builtins), "fetch", "fetchV2", "geolocation"} - _BUILT_IN


def is_stateless(code: str) -> bool:
    """Whether a module that compiles, and that runs from the top in each call, leaves nothing to a later call."""
    nodes = list(ast.walk(ast.parse(code)))
    own = set[str]().union(*map(_bound, nodes))
    if own & _REVEALING or any(name.startswith("__") for name in own):
        return False
    return all(_is_harmless(node, own) for node in nodes)


def _bound(node: ast.AST) -> set[str]:
    """Return the names that a node defines, in whatever scope."""
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        return {(alias.asname or alias.name).partition(".")[0] for alias in node.names}
    if isinstance(node, ast.Name):
        return set() if isinstance(node.ctx, ast.Load) else {node.id}
    if isinstance(node, ast.arg):
        return {node.arg}
    if isinstance(node, (ast.FunctionDef, ast.ExceptHandler, ast.MatchAs, ast.MatchStar)) and node.name:
        return {node.name}
    return {node.rest} if isinstance(node, ast.MatchMapping) and node.rest else set()


def _is_harmless(node: ast.AST, own: set[str]) -> bool:
    if not isinstance(node, _NODES):
        return False
    if isinstance(node, ast.Name):
        return node.id in own or node.id in _BUILT_IN
    if isinstance(node, ast.Attribute):
        return isinstance(node.ctx, ast.Load) and node.attr in _ATTRIBUTES and _formats_plainly(node)
    if isinstance(node, ast.Import):
        return all(alias.name in _MODULES for alias in node.names)
    if isinstance(node, ast.ImportFrom):
        return node.module in _MODULES and not node.level and all(alias.name in _ATTRIBUTES for alias in node.names)
    return not (isinstance(node, ast.FunctionDef) and node.decorator_list)


def _formats_plainly(node: ast.Attribute) -> bool:
    """Whether this is not the `format` of a text, or the text is a literal that reads nothing from its arguments."""
    if node.attr != "format":
        return True
    text = node.value.value if isinstance(node.value, ast.Constant) else None
    return isinstance(text, str) and not _LOOKUP.search(text)
