"""The same person reports again and again: memos, their true price, diaries, trees over changes.

Trust: kernel.
"""
