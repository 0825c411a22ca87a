"""What every explorer is made of: controls, work in threads, style."""
