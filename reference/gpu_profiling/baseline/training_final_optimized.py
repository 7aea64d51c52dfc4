"""Part 6 before the work: nothing is optimized. It is `given.training_matched` under the name of your program."""

from __future__ import annotations

from given.training_matched import fuse, largest_batch, main, make_loader, train_epoch

__all__ = ["fuse", "largest_batch", "main", "make_loader", "train_epoch"]

if __name__ == "__main__":
    main()
