"""Drop-in replacements for other SDKs, based on this client: change the import, keep the program.

| instead of | write |
|---|---|
| `import rudderstack.analytics as analytics` | `from svctoolkit.sdk.compat import rudder as analytics` |
| `import segment.analytics as analytics` | `from svctoolkit.sdk.compat import segment as analytics` |
| `import posthog` | `from svctoolkit.sdk.compat import posthog` |
| `import mixpanel` | `from svctoolkit.sdk.compat import mixpanel` |
| `import amplitude` | `from svctoolkit.sdk.compat import amplitude` |
| `import snowplow_tracker` | `from svctoolkit.sdk.compat import snowplow as snowplow_tracker` |

Differences are listed in `svctoolkit/docs/sdk/switching.md`: events are on disk when a call returns, no event is
dropped because of an outage, a forked child sends, and the end of the program sends waiting events.
"""
