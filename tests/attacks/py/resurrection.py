import atexit, gc, sys, threading, weakref
kept = []
class Back:
    def __del__(self):
        kept.append(self)
        Back()
class Key: pass
def burn(*_):
    while True: pass
def transformEvent(event, metadata):
    if getattr(sys, 'stash', None) or getattr(gc, 'stash', None): event['breach'] = 'state of an earlier call'
    sys.stash = gc.stash = event['userId']
    key = Key()
    weakref.finalize(key, burn)
    atexit.register(burn)
    threading.excepthook = sys.unraisablehook = sys.excepthook = burn
    gc.callbacks.append(lambda phase, info: kept.append(phase))
    circle = Back(); circle.me = circle
    if event['userId'] == 'u-2':
        del circle; gc.collect()
    kept.append(key)
    return event
