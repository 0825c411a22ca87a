import atexit, builtins, codecs, contextvars, copyreg, decimal, gc, json, logging, os, random, signal, sys, threading, warnings
found = []
def look(name, test):
    try:
        if test(): found.append(name)
    except BaseException as error: found.append('%s: %r' % (name, error))
look('decimal', lambda: decimal.getcontext().prec != 28)
look('logging', lambda: logging.getLogger().handlers or logging.getLogger('stash').handlers)
look('modules', lambda: 'stash' in sys.modules)
look('builtins', lambda: hasattr(builtins, 'stash') or len([1]) != 1)
look('signal', lambda: callable(signal.getsignal(signal.SIGTERM)))
look('gc', lambda: gc.callbacks or not gc.isenabled())
look('threads', lambda: threading.active_count() != 1)
look('recursion', lambda: sys.getrecursionlimit() != 1000)
look('trace', lambda: sys.gettrace() or sys.getprofile())
look('excepthook', lambda: sys.excepthook is not sys.__excepthook__)
look('environ', lambda: 'STASH' in os.environ)
look('copyreg', lambda: complex in copyreg.dispatch_table and getattr(copyreg.dispatch_table[complex], '__name__', '') == 'stash')
look('warnings', lambda: any(f[0] == 'error' for f in warnings.filters))
look('path', lambda: sys.path or sys.meta_path[0].__class__.__name__ == 'Stash')
look('json', lambda: json.JSONEncoder().encode({'a': 1}) != '{"a": 1}')
look('type', lambda: hasattr(logging.Logger, 'stash'))
first = random.random()
def transformEvent(event, metadata):
    if found: event['breach'] = 'state: ' + ','.join(found)
    return event
