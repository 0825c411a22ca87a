"""What a replay gives, and how it shows itself."""
