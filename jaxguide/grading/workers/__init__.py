"""Run a submission's code in processes of its own, under limits, and talk to them."""
