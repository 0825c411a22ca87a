"""The gateway for event SDKs: accept events, refuse invalid ones like RudderStack, and serve source configurations."""
