"""Isolate a submission's process from the key, the disk, the network and all other processes."""
