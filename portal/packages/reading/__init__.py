"""From a manifest's rows to items, repeats and shards: one pass, the same each time."""
