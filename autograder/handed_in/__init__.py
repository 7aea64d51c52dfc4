"""What students handed in, and whose it is: found, unpacked, read, never run."""
