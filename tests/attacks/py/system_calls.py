import ctypes, platform
def transformEvent(event, metadata):
    """Whatever opens, starts, connects, maps or tells something: each must be refused before it looks at its arguments."""
    if platform.machine() != 'x86_64': return event  # the numbers are of that
    libc, gained = ctypes.CDLL(None, use_errno=True), []
    calls = {'open': 2, 'socket': 41, 'connect': 42, 'sendmsg': 46, 'recvmsg': 47, 'socketpair': 53, 'execve': 59, 'uname': 63, 'fcntl': 72, 'getcwd': 79,
             'mkdir': 83, 'unlink': 87, 'readlink': 89, 'chmod': 90, 'ptrace': 101, 'setuid': 105, 'mount': 165, 'init_module': 175, 'openat': 257, 'unshare': 272,
             'splice': 275, 'eventfd2': 290, 'dup3': 292, 'dup2': 33, 'dup': 32, 'pipe2': 293, 'perf_event_open': 298, 'name_to_handle_at': 303, 'setns': 308, 'kcmp': 312,
             'seccomp': 317, 'memfd_create': 319, 'bpf': 321, 'execveat': 322, 'userfaultfd': 323, 'statx': 332, 'io_uring_setup': 425, 'openat2': 437, 'pidfd_getfd': 438,
             'landlock_restrict_self': 446, 'memfd_secret': 447, 'keyctl': 250, 'add_key': 248, 'shmget': 29, 'msgget': 68, 'mq_open': 240, 'timerfd_create': 283, 'inotify_init': 253}
    for name, number in calls.items():
        ctypes.set_errno(0)
        if libc.syscall(number, -1, 0, 0, 0, 0, 0) >= 0 or ctypes.get_errno() not in (1, 38): gained.append('%s %d' % (name, ctypes.get_errno()))
    if gained: event['breach'] = ','.join(gained)
    return event
