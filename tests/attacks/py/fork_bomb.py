import ctypes, os, threading
def transformEvent(event, metadata):
    libc, children = ctypes.CDLL(None), []
    def fork():
        for way in (os.fork, libc.fork, libc.vfork, lambda: libc.syscall(56, 17, 0, 0, 0, 0), lambda: libc.syscall(57), lambda: libc.syscall(58), lambda: libc.syscall(435, 0, 0)):
            try:
                child = way()
            except BaseException:
                continue
            if child == 0:
                while True: pass
            if child > 0: children.append(child)
    fork()
    for _ in range(50):
        try: threading.Thread(target=fork, daemon=True).start()
        except BaseException: break
        else: children.append('thread')
    if children: event['breach'] = 'started: %s' % children
    return event
