"""Write results for learning platforms: Gradescope."""
