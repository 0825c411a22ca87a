import resource, signal, sys
def transformEvent(event, metadata):
    for limit in range(16):
        try: resource.setrlimit(limit, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        except BaseException: continue
        else: event['breach'] = 'limit %d is gone' % limit
    for number in range(1, 65):
        try: signal.signal(number, signal.SIG_IGN)
        except BaseException: pass
    return event
