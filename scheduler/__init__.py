"""The scheduler: fills the quiet hours, keeps promises, gives way to online traffic.

``domain`` is pure. ``wire``, ``bus``, ``objects`` and ``tokenizers`` are what the three programs share.
"""
