"""Run a submission's code in separate processes under resource limits, and exchange messages with them."""
