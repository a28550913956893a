"""The list of pairs and the pair reader, with or without what models made of a pair."""
