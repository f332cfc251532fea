"""Grade a batch: each submission once, whatever happens, recorded the moment it is there."""
