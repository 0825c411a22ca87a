import faulthandler, signal
def burn(*_):
    while True: pass
def transformEvent(event, metadata):
    for name in ('SIGALRM', 'SIGVTALRM', 'SIGPROF', 'SIGUSR1', 'SIGUSR2', 'SIGTERM', 'SIGCHLD'):
        try: signal.signal(getattr(signal, name), burn)
        except BaseException: pass
    for timer in (signal.ITIMER_REAL, signal.ITIMER_VIRTUAL, signal.ITIMER_PROF):
        try: signal.setitimer(timer, 0.05, 0.01)
        except BaseException: pass
    try: faulthandler.dump_traceback_later(0.01, repeat=True)
    except BaseException: pass
    return event
