"""Lightning trains a small network on CPUs, and goes on from its last checkpoint."""

import os

import lightning
import torch
from lightning.pytorch.callbacks import ModelCheckpoint


class Small(lightning.LightningModule):
    """A linear layer, which prints a line for each step."""

    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(16, 1)

    def training_step(self, batch, _):
        samples, wanted = batch
        return (self.layer(samples) - wanted).square().mean()

    def on_train_batch_end(self, *_):
        if self.global_rank == 0:
            print(f"step {self.global_step} ", flush=True)

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.01)


samples = torch.randn(40_000, 16)
data = torch.utils.data.TensorDataset(samples, samples.sum(1, keepdim=True))
trainer = lightning.Trainer(
    accelerator="cpu",
    devices=1,
    num_nodes=2,
    strategy="ddp",
    max_steps=int(os.environ["STEPS"]),
    enable_progress_bar=False,
    logger=False,
    callbacks=[ModelCheckpoint(dirpath="kept", save_last=True, every_n_train_steps=5)],
)
trainer.fit(Small(), torch.utils.data.DataLoader(data, batch_size=16), ckpt_path="last")
