"""A model of two parts, which can be pickled."""

from __future__ import annotations

import torch


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU())
        self.head = torch.nn.Linear(2, 1)

    def forward(self, x):
        return self.head(self.encoder(x))
