"""The engine that runs chunks: in this process, in several, or on a cluster."""
