"""Reports on jobs, running or ended, which resource managers give by the job's id alone."""
