"""Ask another data plane for clients' answers, and send it the events that a store holds.

Events that a running data plane forwards are sent by its lanes: see `svctoolkit.server.worker.calls.elsewhere`.
"""
