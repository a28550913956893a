"""Result files in upstream's layout: what they hold, which pairs they are of, and writing them.

Who is better by them is the business of whoever reads them.
"""
