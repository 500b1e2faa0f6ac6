"""What happens to one element."""
