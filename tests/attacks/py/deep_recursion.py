import copy, json, pickle, re, sys
class Deep:
    def __repr__(self): return repr(self)
    def __eq__(self, other): return self == other
    def __getattr__(self, name): return getattr(self, name + 'x')
def transformEvent(event, metadata):
    nested = []
    for _ in range(100_000): nested = [nested]
    for way in (lambda: repr(nested), lambda: copy.deepcopy(nested), lambda: pickle.dumps(nested), lambda: json.dumps(nested),
                lambda: repr(Deep()), lambda: Deep() == 1, lambda: re.compile('(' * 20_000 + ')' * 20_000), lambda: nested == copy.copy(nested)):
        try: way()
        except (RecursionError, OverflowError, re.error, AttributeError): pass
    sys.setrecursionlimit(10**9)
    if event['userId'] == 'u-2': return {'deep': nested}
    return repr(Deep()) and event
