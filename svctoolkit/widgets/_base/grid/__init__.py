"""A grid for tables of any size: the rows stay in the kernel, the page gets those in view."""
