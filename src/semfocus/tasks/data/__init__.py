"""Data that tasks read: tables of sequences, texts and their tokenizers."""
