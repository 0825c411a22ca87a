import os, struct
ODD = [b'{"results":7}', b'{"results":[[]]}', b'{"results":[{"events":{"a":1}}]}', b'{"results":[{"events":[1,null,"x",[]]}]}',
       b'{"results":[{"events":[{"n":1e999}]}]}', b'{"results":[{"events":[{"n":' + b'9' * 9000 + b'}]}]}', b'{"results":[{"logs":[["info"]]}]}',
       b'{"results":[{"logs":{"a":"b"},"events":[]}]}', b'{"calls":[]}', b'{"calls":[{"id":"x","kind":"fetch","args":[]}]}',
       b'{"calls":[{"id":1,"kind":"open","args":[]}]}', b'{"calls":[{"id":1,"kind":"fetch","args":{"a":1}}]}', b'[]', b'null', b'', b'\xff\xfe', b'{"results":null,"error":{"name":5}}',
       b'{"results":[{"events":[{"a":1}],"dropped":-9}],"hits":[["x"]]}', b'{"results":[{"events":' + b'[' * 50000 + b']' * 50000 + b'}]}', b'{"results":[{}],"batch":[5]}']
def transformEvent(event, metadata):
    body = ODD[int(event['userId'][2:] or 0) % len(ODD)]
    for descriptor in range(3, 64):
        for number in range(64):
            try: os.write(descriptor, struct.pack('<II', len(body), number) + body)
            except OSError: break
    return event
