"""The client SDK's calls, its queue and what arrives."""
