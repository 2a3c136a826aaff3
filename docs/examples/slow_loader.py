"""A training program whose data loader is too slow: docs/getting-started.md finds that out and repairs it."""

import sys
import time

import torch
from torch.utils.data import DataLoader, Dataset


class Slow(Dataset):
    """Samples that take 5 ms each to prepare, as decoding an image would."""

    def __len__(self) -> int:
        return 480

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        time.sleep(0.005)
        return torch.randn(1024), index % 10


def main(workers: int) -> None:
    """Train for a few steps."""
    torch.set_num_threads(1)  # so that the loader's workers have a core
    loader = DataLoader(Slow(), batch_size=24, num_workers=workers, persistent_workers=workers > 0)
    model = torch.nn.Sequential(torch.nn.Linear(1024, 8192), torch.nn.ReLU(), torch.nn.Linear(8192, 1024))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    loss_of = torch.nn.CrossEntropyLoss()
    for samples, labels in loader:
        loss = loss_of(model(samples), labels)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 0)
