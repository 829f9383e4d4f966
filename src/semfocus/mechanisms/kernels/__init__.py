"""Fast implementations, each proved equal to the reference."""
