"""What crosses the wall between the supervisor and a worker.

Messages, sealed inputs, digests, made pictures.
"""
