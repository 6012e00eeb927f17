"""The worker: claims shards, runs what is missing, writes parts, reports. Never imports Django."""
