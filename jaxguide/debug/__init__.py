"""See what ran: printed lines, recorded values, scripted breakpoints, the first NaN, trouble of the installation."""
