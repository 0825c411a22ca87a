"""What `svctoolkit plan` can do: one file for each."""
