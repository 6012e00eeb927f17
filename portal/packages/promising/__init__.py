"""From what was read to an offer, what else could be offered, and the promise."""
