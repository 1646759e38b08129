"""PBS (OpenPBS, PBS Professional) behind the port."""
