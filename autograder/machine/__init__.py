"""The machine: its device, whose turn it is, processes that end together, a domain that no
signal leaves.
"""
