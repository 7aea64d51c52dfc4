"""One Result shown: `terminal` for the person who just ran it, `html` for feedback pages and the class page."""
