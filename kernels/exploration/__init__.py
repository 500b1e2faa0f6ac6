"""What the explorer of open orders needs: updates grouped by element, comparisons of schedules."""
