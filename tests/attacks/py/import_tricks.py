import gc, importlib, sys
def transformEvent(event, metadata):
    gained = []
    for name in ('svctoolkit', 'seccomp', 'lock', 'call', 'channel', 'main', 'msgspec', 'subprocess', '_posixsubprocess', 'site', 'ensurepip', 'venv'):
        try: module = importlib.import_module(name)
        except BaseException: continue
        if name in ('svctoolkit', 'seccomp', 'lock', 'call', 'channel', 'main', 'msgspec'): gained.append(name)
    sys.path[:] = ['/', '/usr/lib/python3', '/tmp', '.']
    importlib.invalidate_caches()
    for name in ('svctoolkit', 'msgspec', 'this', 'antigravity'):
        try: importlib.import_module(name); gained.append(name + ' by path')
        except BaseException: pass
    try:
        with open(importlib.__file__) as file: gained.append('a file')
    except BaseException: pass
    for thing in gc.get_objects():
        if isinstance(thing, dict) and thing.get('SANDBOX_CANARY'): gained.append('the environment')
    sys.meta_path.insert(0, type('Stash', (), {'find_spec': lambda *_: None})())
    if gained: event['breach'] = 'imported ' + ','.join(gained)
    return event
