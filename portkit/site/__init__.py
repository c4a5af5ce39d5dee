"""What a rule is given and what it says: the site, its surroundings, and findings."""
