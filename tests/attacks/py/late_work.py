import _thread, atexit, gc, os, signal, threading, weakref
class Late:
    def __del__(self):
        while True: pass
def loop(*_):
    while True: pass
late = Late()
def transformEvent(event, metadata):
    for start in (lambda: atexit.register(loop), lambda: weakref.finalize(late, loop), lambda: gc.callbacks.append(loop),
                  lambda: _thread.start_new_thread(loop, ()), lambda: threading.Timer(0.5, loop).start(),
                  lambda: signal.signal(signal.SIGALRM, loop), lambda: signal.setitimer(signal.ITIMER_REAL, 0.3),
                  lambda: signal.signal(signal.SIGTERM, loop), lambda: signal.signal(signal.SIGUSR1, loop)):
        try: start()
        except BaseException: pass
    globals()['cycle'] = [late]
    return event
