"""What crosses the wall between the supervisor and a worker: messages, sealed inputs, digests, made pictures."""
