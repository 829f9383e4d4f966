"""Pages: each beside its template, as one HTML file that needs nothing but itself."""
