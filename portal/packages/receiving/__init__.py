"""From a file on its way in to a draft, and looking at it another way."""
