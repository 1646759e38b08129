"""What ``whesl doctor`` looks at. Every probe is a function without arguments that returns findings."""
