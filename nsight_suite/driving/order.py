"""The order in which the cases of a shape take turns."""

from __future__ import annotations

import random


def shuffled_rounds(count: int, rounds: int, seed: int, shape: str) -> list[list[int]]:
    """For each round an order of `count` subjects: the same for the same seed and shape, on every Python."""
    source = random.Random(f"{seed}:{shape}")
    orders = []
    for _ in range(rounds):
        order = list(range(count))
        source.shuffle(order)
        orders.append(order)
    return orders
