"""Batch normalization: inference, training and gradients."""
