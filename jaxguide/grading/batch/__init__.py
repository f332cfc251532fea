"""Grade a batch of submissions: each exactly once, even after interruptions, with results saved immediately."""
