"""The Trainer of Hugging Face trains a small network on CPUs, and goes on from its last whole checkpoint."""

import os
from pathlib import Path

import torch
from transformers import Trainer, TrainerCallback, TrainingArguments


class Small(torch.nn.Module):
    """A linear layer with its loss."""

    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(16, 1)

    def forward(self, samples, labels):
        return {"loss": (self.layer(samples) - labels).square().mean()}


class Steps(TrainerCallback):
    """Prints a line for each step."""

    def on_step_end(self, args, state, control, **_):
        if args.process_index == 0:
            print(f"step {state.global_step} ", flush=True)


whole = (path.parent for path in Path("kept").glob("checkpoint-*/trainer_state.json"))
newest = max(whole, key=lambda path: int(path.name.rpartition("-")[2]), default=None)
arguments = TrainingArguments(
    output_dir="kept",
    use_cpu=True,
    max_steps=int(os.environ["STEPS"]),
    save_steps=5,
    per_device_train_batch_size=16,
    report_to=[],
    disable_tqdm=True,
)
data = [{"samples": torch.randn(16), "labels": torch.ones(1)} for _ in range(4000)]
trainer = Trainer(model=Small(), args=arguments, train_dataset=data, callbacks=[Steps()])
trainer.train(resume_from_checkpoint=newest and str(newest))
