"""Element types while computing, and functions on arrays that NumPy lacks."""
