"""A path or a Hub id -> a checked table of pairs, whatever shape its file has."""
