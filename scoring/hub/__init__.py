"""The Hugging Face Hub: whether it may be asked, what is fetched from it, what its cache may hold.

What is made of the files, pairs or models, is not known here.
"""
