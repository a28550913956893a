"""Result files in upstream's layout: reading and writing them, and which pairs they are of."""
