import argparse
import contextlib
import json
import os
from time import perf_counter

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.distributed import destroy_process_group, init_process_group
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler

import given


def ddp_setup():
    init_process_group(backend="nccl" if torch.cuda.is_available() else "gloo", init_method="env://")
    if torch.cuda.is_available():
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))


class Trainer:
    def __init__(self, args):
        self.args = args
        self.rank = int(os.environ["RANK"])
        self.world = int(os.environ["WORLD_SIZE"])
        cuda = torch.cuda.is_available()
        self.device = torch.device(f"cuda:{os.environ['LOCAL_RANK']}" if cuda else "cpu")
        self.train_set, self.test_set = given.make_datasets(args.samples)
        self.module, self.criterion, self.optimizer = given.make_training(self.device)
        self.model = DDP(self.module, device_ids=[self.device.index] if cuda else None)
        self.loader = DataLoader(
            self.train_set,
            batch_size=args.batch_size,
            pin_memory=cuda,
            shuffle=False,
            drop_last=True,
            num_workers=args.workers,
            persistent_workers=args.workers > 0,
            sampler=DistributedSampler(self.train_set, num_replicas=self.world, rank=self.rank),
        )
        self.loss_sum = 0.0
        self.taken = 0

    def _run_batch(self, source, targets, sync):
        self.model.require_backward_grad_sync = sync
        autocast = torch.autocast(self.device.type, torch.bfloat16) if self.args.amp else contextlib.nullcontext()
        with autocast:
            output = self.model(source)
        loss = self.criterion(output.float(), targets)
        loss.backward()
        self.loss_sum += loss.item() * targets.size(0)

    def _step(self):
        for parameter in self.module.parameters():
            parameter.grad.div_(self.args.accumulate)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        self.taken += 1

    def _run_epoch(self, epoch, on_step=None):
        self.loader.sampler.set_epoch(epoch)
        self.model.train()
        self.loss_sum = 0.0
        for index, (source, targets) in enumerate(self.loader):
            sync = (index + 1) % self.args.accumulate == 0
            self._run_batch(source.to(self.device), targets.to(self.device), sync)
            if sync:
                self._step()
                if on_step:
                    on_step()

    def train(self):
        seconds = torch.zeros(self.args.epochs, dtype=torch.float64, device=self.device)
        for epoch in range(self.args.epochs):
            dist.barrier()
            start = perf_counter()
            self._run_epoch(epoch)
            if self.device.type == "cuda":
                torch.cuda.synchronize()
            seconds[epoch] = perf_counter() - start
        dist.reduce(seconds, 0, op=dist.ReduceOp.MAX)
        return [round(value, 4) for value in seconds.tolist()]

    @torch.inference_mode()
    def test(self):
        """Each rank pads its share with -1, which is never right."""
        self.module.eval()
        logits = []
        labels = []
        for index in range(self.rank, len(self.test_set), self.world):
            image, label = self.test_set[index]
            logits.append(self.module(image[None].to(self.device)))
            labels.append(int(label))
        right = (F.softmax(torch.cat(logits), dim=-1).argmax(-1).cpu() == torch.tensor(labels)).sum()
        right = right.to(self.device)
        dist.reduce(right, 0)
        return right.item() / len(self.test_set)

    def everything(self):
        seconds = self.train()
        loss = torch.tensor([self.loss_sum], device=self.device)
        dist.reduce(loss, 0)
        peak = torch.tensor([given.peak_mb(self.device)], device=self.device)
        peaks = [torch.zeros_like(peak) for _ in range(self.world)]
        dist.all_gather(peaks, peak)
        figures = {
            "samples": len(self.train_set),
            "steps": self.taken,
            "seconds": seconds,
            "peak_mb": [each.item() for each in peaks],
            "accuracy": round(self.test(), 4),
            "loss": round(loss.item() / len(self.train_set), 5),
            "processes": self.world,
        }
        if self.args.profile:
            with given.profiled(self.args.profile) as on_step:
                self._run_epoch(self.args.epochs, on_step)
        return figures


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--amp", action="store_true")
    for name, default in (("accumulate", 1), ("workers", 0), ("samples", 1280), ("batch-size", 32), ("epochs", 1)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--result")
    parser.add_argument("--profile")
    args = parser.parse_args()
    ddp_setup()
    try:
        train(args)
    finally:
        destroy_process_group()


def train(args):
    trainer = Trainer(args)
    figures = trainer.everything()
    if trainer.rank == 0:
        print(json.dumps(figures))
        if args.result:
            with open(args.result, "w") as file:
                json.dump(figures, file)


if __name__ == "__main__":
    main()
