"""One scenario, tried: its steps, and what came of them."""
