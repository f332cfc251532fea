"""Planted PRNG key bugs, correct programs that look like bugs, and a scoreboard of checkers that judge both."""
