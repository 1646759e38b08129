"""A job that may have ended, as its resource manager reports it by the job's id alone."""
