"""Regulations: requests to delete users, carried out as jobs, one for each destination."""
