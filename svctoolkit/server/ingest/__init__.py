"""What event SDKs ask of a data plane: taking events, refusing them as the gateway does, source configurations."""
