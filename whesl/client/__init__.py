"""What commands and ``whesl.api`` do for a user: exceptions from outside, logs, workflows, leftovers."""
