"""Trains a small network with DistributedDataParallel on CPUs, and goes on from its last checkpoint.

STEPS: how many in all. BATCH: samples of each rank. LOADERS: processes of the data loader. RATE: the learning
rate, which RATE_FACTOR multiplies.
"""

import os
from pathlib import Path

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset

STEPS = int(os.environ.get("STEPS", "300"))
EVERY = 5  # steps between two checkpoints
CHECKPOINT = Path("checkpoint.pt")


def batches(seed: int) -> "DataLoader[tuple[torch.Tensor, ...]]":
    """Return this rank's data."""
    generator = torch.Generator().manual_seed(seed)
    samples = torch.randn(4096, 16, generator=generator)
    return DataLoader(
        TensorDataset(samples, samples.sum(1, keepdim=True)),
        batch_size=int(os.environ.get("BATCH", "64")),
        num_workers=int(os.environ.get("LOADERS", "0")),
    )


def main() -> None:
    """Train."""
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(0)
    model = DistributedDataParallel(torch.nn.Linear(16, 1))
    rate = float(os.environ.get("RATE", "0.01")) * float(os.environ.get("RATE_FACTOR", "1"))
    optimizer = torch.optim.SGD(model.parameters(), lr=rate)
    step = 0
    if CHECKPOINT.exists():
        kept = torch.load(CHECKPOINT)
        model.module.load_state_dict(kept["model"])
        step = kept["step"]
    while step < STEPS:
        for samples, wanted in batches(step * dist.get_world_size() + rank):
            step += 1
            loss = (model(samples) - wanted).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if rank == 0:
                print(f"step {step} loss {loss.item():.4f}", flush=True)
            if not loss.isfinite():  # before it comes into a checkpoint
                raise FloatingPointError(f"step {step}: loss is NaN or infinite")
            if rank == 0 and step % EVERY == 0:
                new = CHECKPOINT.with_suffix(".new")
                torch.save({"model": model.module.state_dict(), "step": step}, new)
                new.replace(CHECKPOINT)  # whole, or the one before
            if step >= STEPS:
                break
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
