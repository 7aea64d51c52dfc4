"""Lab resnet18: one training loop made faster, part by part."""
