"""From a promise to settled shards: every move of their states, and what they come to."""
