import json, os, struct
FRAMES = [b'\xff\xfe', b'{', b'null', b'[]', b'{"results": 5}', b'{"results": [5]}', b'{"results": [{"events": [1]}]}', b'{"results": [{"events": ["x"]}]}', b'{"results": [{"events": {}}]}',
          b'{"results": []}', b'{"results": [{"events": [{"a": NaN}]}]}', b'{"results": [{"events": [{"a": "\xed\xa0\x80"}]}]}', b'{"results": [{"events": [{"\\ud800": "\\udfff"}]}]}',
          b'{"results": [{"events": [' + b'[' * 3000 + b']' * 3000 + b']}]}', b'{"results": [{"error": 5}]}', b'{"results": [{"error": {"name": 1, "message": [], "at": "x"}}]}',
          b'{"results": [{"events": [], "logs": [[1, 2]]}]}', b'{"results": [{"events": [], "logs": 7}]}', b'{"calls": [{"id": 0, "kind": "exec", "args": []}]}', b'{"calls": [5]}', b'{"calls": []}',
          b'{"calls": [{"id": "a", "kind": "fetch", "args": 5}]}', b'{"batch": [1, null, "x"], "results": [{"events": []}]}', b'{"hits": [["a"]], "results": [{"events": []}]}', b'{"error": "x"}',
          b'{"results": [{"events": [{"a": ' + b'9' * 5000 + b'}]}]}', b'{"results": [{"events": [{"a": 1e999}]}]}', b'']
def transformEvent(event, metadata):
    """Frames of every wrong shape, one for each event; the number is that of the call, as it is in the frames of the process."""
    frame = FRAMES[int(event['messageId'].split('-')[1]) % len(FRAMES)]
    import sys
    number, here = None, sys._getframe()
    while here and number is None:
        number, here = here.f_locals.get('number'), here.f_back
    for fd in range(3, 12):
        try: os.write(fd, struct.pack('<II', len(frame), number or 0) + frame)
        except OSError: pass
    return event
