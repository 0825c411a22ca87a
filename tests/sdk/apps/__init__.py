"""Example applications of the frameworks, as their users write them."""
