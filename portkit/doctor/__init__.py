"""What a machine lacks to run a port on its AMD GPU, and how to mend it."""
