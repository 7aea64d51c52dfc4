"""The network of this lab: three convolutions and two linear layers, for pictures of any size."""

from __future__ import annotations

from torch import Tensor, nn

from .photos import CLASSES


class SimpleNet(nn.Module):
    """Written one operation after the other; *width* is the channels of the first convolution."""

    def __init__(self, width: int = 64) -> None:
        """Draw fresh weights."""
        super().__init__()
        self.conv1 = nn.Conv2d(3, width, 3, padding=1)
        self.conv2 = nn.Conv2d(width, 2 * width, 3, padding=1)
        self.conv3 = nn.Conv2d(2 * width, 4 * width, 3, padding=1)
        self.pool = nn.MaxPool2d(2, 2)
        self.shrink = nn.AdaptiveAvgPool2d(4)  # 4 x 4 numbers of each channel, whatever the size of the pictures
        self.fc1 = nn.Linear(4 * width * 4 * 4, 512)
        self.fc2 = nn.Linear(512, CLASSES)
        self.relu = nn.ReLU()

    def forward(self, x: Tensor) -> Tensor:
        """Return the logits (batch, CLASSES) of images (batch, 3, height, width)."""
        x = self.conv1(x)
        x = self.relu(x)
        x = self.pool(x)

        x = self.conv2(x)
        x = self.relu(x)
        x = self.pool(x)

        x = self.conv3(x)
        x = self.relu(x)
        x = self.shrink(x)

        x = x.flatten(1)
        x = self.fc1(x)
        x = self.relu(x)
        return self.fc2(x)
