def transformEvent(event, metadata):
    deep = []
    for _ in range(900): deep = [deep]
    for url in ('https://x.example/' + 'a' * 30_000_000, 'http://[::1', 'file:///etc/passwd', '\ud800', '', 7, None, deep, {'a': float('nan')}):
        for call in (fetch, fetchV2):
            try: answer = call(url, {'method': 'POST', 'body': 'b' * 1_000_000, 'headers': {'a\r\nb': 'c\r\nd: e'}})
            except Exception: continue
            if 'root:' in str(answer): event['breach'] = 'read a file'
    return event
