import mmap, os, socket
def transformEvent(event, metadata):
    kept, size = [], 0
    def pages(): kept.append(mmap.mmap(-1, 64 << 20)); kept[-1].write(b'x' * (64 << 20)); return 64 << 20
    def file():
        descriptor = os.memfd_create('x'); os.write(descriptor, b'x' * (64 << 20)); kept.append(descriptor); return 64 << 20
    def pair():
        a, b = socket.socketpair(); a.setblocking(False); kept.extend((a, b)); return a.send(b'x' * (8 << 20))
    def array(): kept.append(bytearray(64 << 20)); return 64 << 20
    for way in (pages, file, pair, array):
        for _ in range(20):
            try: size += way()
            except MemoryError: break
            except BaseException: break
    if size > 256 << 20: event['breach'] = 'has %d MB' % (size >> 20)
    return event
