import ctypes, os
def transformEvent(event, metadata):
    gained = []
    def spawn():
        import subprocess
        subprocess.run(['/bin/true'])
    def fork():
        child = os.fork()
        if child == 0: os._exit(0)
        os.waitpid(child, 0)
    def thread():
        import _thread
        done = []
        _thread.start_new_thread(lambda: done.append(1), ())
    def call(number, *args):
        if ctypes.CDLL(None).syscall(number, *args) < 0: raise OSError('refused')
    ways = {'execv': lambda: os.execv('/bin/true', ['true']), 'posix_spawn': lambda: os.posix_spawn('/bin/true', ['true'], {}),
            'subprocess': spawn, 'fork': fork, 'forkpty': lambda: os.forkpty(), 'system': lambda: os.system('true') == 0 or 1 / 0,
            'vfork': lambda: call(58), 'clone3': lambda: call(435, 0, 88), 'execveat': lambda: call(322, -100, b'/bin/true', 0, 0, 0)}
    for name, way in ways.items():
        try: way()
        except BaseException: continue
        gained.append(name)
    if gained: event['breach'] = 'started by ' + ','.join(gained)
    return event
