"""Reports between devices and the analyst: forms, bytes, clients, collectors, hostile senders.

Trust: kernel.
"""
