"""An exercise is a function, a slow version of it, and claims about the fast one: `exercise.py` says how it is written.

Each module holds a family of claims; a claim is what is run, what is judged, and the words of its failure.
"""
