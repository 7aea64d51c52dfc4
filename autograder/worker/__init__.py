"""Everything that runs with torch, trusted or not, always as its own process; nobody imports it."""
