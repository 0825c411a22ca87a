"""The stages. They are independent of each other, of results and of any caller."""
