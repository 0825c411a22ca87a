"""Web applications: who visits, from where, and which pages are seen."""
