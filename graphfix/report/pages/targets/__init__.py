"""The pages of the targets: one Markdown file each, beside this module; the table of a row is added to it."""
