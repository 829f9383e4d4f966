"""The practitioner's question: would a pattern help my model, on my data?"""
