"""What scripts/attack.py tries, and with what."""
