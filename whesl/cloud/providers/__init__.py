"""Providers of instances behind one port: processes on this machine, AWS EC2, a site's CLOUD nodes."""
