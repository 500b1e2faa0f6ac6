"""What a program is, how it is read, and what each operation means."""
