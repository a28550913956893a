"""`python -m scoring`: what it is told, a run by one process or several, and what it then says.

How pairs are scored is not known here (`scoring.run`).
"""
