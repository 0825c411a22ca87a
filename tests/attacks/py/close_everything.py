import os
def transformEvent(event, metadata):
    for fd in range(0, 256):
        try: os.close(fd)
        except OSError: pass
    while True: pass
