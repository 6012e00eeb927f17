"""From settled shards to the files that people download."""
