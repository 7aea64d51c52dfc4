"""What a speedup is worth.

Pairs of processes, the rule that judges them, and the session in which they count.
"""
