"""Other SDKs' names over this client: change the import, keep the program.

| instead of | write |
|---|---|
| `import rudderstack.analytics as analytics` | `from svctoolkit.sdk.compat import rudder as analytics` |
| `import segment.analytics as analytics` | `from svctoolkit.sdk.compat import segment as analytics` |

What is different is listed in `svctoolkit/docs/sdk/switching.md`: events are on disk when a call returns, nothing is
given up because of an outage, a forked child sends, and the end of the program sends what waits.
"""
