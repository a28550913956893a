"""The Hugging Face Hub: whether it may be asked, what is fetched, what its cache may hold."""
