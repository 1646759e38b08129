"""Accelerate trains a small network on CPUs, and goes on from its last whole checkpoint."""

import os
from pathlib import Path

import torch
from accelerate import Accelerator

accelerator = Accelerator(cpu=True)
model = torch.nn.Linear(16, 1)
samples = torch.randn(40_000, 16)
data = torch.utils.data.TensorDataset(samples, samples.sum(1, keepdim=True))
model, optimizer, loader = accelerator.prepare(
    model, torch.optim.SGD(model.parameters(), lr=0.01), torch.utils.data.DataLoader(data, batch_size=16)
)
kept = sorted(Path().glob("kept-*"), key=lambda path: int(path.name[5:]))
step = int(kept[-1].name[5:]) if kept else 0
if kept:
    accelerator.load_state(str(kept[-1]))
while step < int(os.environ["STEPS"]):
    for batch, wanted in loader:
        step += 1
        accelerator.backward((model(batch) - wanted).square().mean())
        optimizer.step()
        optimizer.zero_grad()
        accelerator.print(f"step {step} ", flush=True)
        if step % 5 == 0:
            accelerator.save_state("new")
            accelerator.wait_for_everyone()
            if accelerator.is_main_process:
                Path("new").rename(f"kept-{step}")
            accelerator.wait_for_everyone()
        if step >= int(os.environ["STEPS"]):
            break
