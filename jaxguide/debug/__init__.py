"""See what ran: printed lines, recorded values, scripted breakpoints, the first NaN, trouble of the installation."""

from jaxguide.debug.diagnosis import Diagnosis, Trouble, doctor

__all__ = ["Diagnosis", "Trouble", "doctor"]
