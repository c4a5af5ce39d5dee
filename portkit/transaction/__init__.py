"""The only code that changes the user's tree."""
