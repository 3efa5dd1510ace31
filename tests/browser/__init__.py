"""Tests in a real browser, and the sample desk that pages are shown from."""
