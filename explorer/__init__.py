"""What the benchmark is and what happened on it; pure Python, no Gradio outside `ui`."""
