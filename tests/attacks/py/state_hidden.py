import atexit, builtins, copyreg, decimal, gc, json, logging, os, random, signal, sys, threading, warnings, weakref
class Stash:
    def find_spec(self, *_): return None
class Handler(logging.Handler):
    def emit(self, record): logging.stash = record
def stash(*_): return (complex, (0, 0))
def transformEvent(event, metadata):
    def attempt(action):
        try: action()
        except BaseException: pass
    attempt(lambda: setattr(decimal.getcontext(), 'prec', 3))
    attempt(lambda: decimal.setcontext(decimal.Context(prec=4)))
    attempt(lambda: logging.getLogger().addHandler(Handler()))
    attempt(lambda: logging.getLogger('stash').addHandler(Handler()))
    attempt(lambda: sys.modules.__setitem__('stash', Stash()))
    attempt(lambda: setattr(builtins, 'stash', event))
    attempt(lambda: setattr(builtins, 'len', lambda _: 7))
    attempt(lambda: signal.signal(signal.SIGTERM, lambda *_: None))
    attempt(lambda: gc.callbacks.append(lambda *_: None))
    attempt(gc.disable)
    attempt(lambda: threading.Thread(target=threading.Event().wait).start())
    attempt(lambda: sys.setrecursionlimit(77))
    attempt(lambda: sys.setprofile(lambda *_: None))
    attempt(lambda: setattr(sys, 'excepthook', stash))
    attempt(lambda: os.environ.__setitem__('STASH', '1'))
    attempt(lambda: copyreg.pickle(complex, stash))
    attempt(lambda: warnings.simplefilter('error'))
    attempt(lambda: sys.path.append('/tmp'))
    attempt(lambda: sys.meta_path.insert(0, Stash()))
    attempt(lambda: setattr(json.JSONEncoder, 'encode', lambda *_: '{"breach": "encoder"}'))
    attempt(lambda: setattr(logging.Logger, 'stash', event))
    attempt(lambda: atexit.register(lambda: sys.modules.clear()))
    attempt(lambda: weakref.finalize(Stash, print, 'late'))
    attempt(lambda: random.seed(1))
    sys.setprofile(None)
    return event
