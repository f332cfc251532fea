"""Planted PRNG key bugs, correct programs that look like bugs, and the scoreboard of the checkers that judge them."""
