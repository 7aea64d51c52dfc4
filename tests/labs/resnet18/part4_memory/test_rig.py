"""Segments that are checkpointed: cut as torchvision's networks are."""

from __future__ import annotations

import pytest
import torch

from autograder.labs.resnet18.part4_memory.rig import SEGMENTS, Nets

NETS = Nets(7, torch.device("cpu"))


@pytest.mark.parametrize("net", [NETS.small(), NETS.resnet18()], ids=["small", "ResNet-18"])
def test_the_segments_and_what_remains_are_the_whole_net(net):
    images = torch.randn(2, 3, 32, 32)
    net.eval()

    x = images
    for segment in NETS.segments(net):
        x = segment(x)

    assert torch.equal(net(images), net.fc(net.avgpool(x).flatten(1)))


@pytest.mark.parametrize("kind", SEGMENTS)
def test_each_segment_takes_images_of_eight_pixels(kind):
    segment = NETS.segment(kind)

    assert 4 == len(segment(torch.randn(4, 3, 8, 8)))
