"""One submission, from its files to a Result."""
