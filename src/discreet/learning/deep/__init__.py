"""Contributions of PyTorch models.  Only this sub-room imports torch.

Trust: kernel.
"""
