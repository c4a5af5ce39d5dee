"""What a rule is given: the site, its surroundings and the job."""
