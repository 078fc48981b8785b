"""Outcomes and verdicts as text: a table for people, and the forms that programs, CI and viewers read."""
