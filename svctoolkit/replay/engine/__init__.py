"""What runs chunks: in this process, in several, on a cluster."""
